"""A2C with V-trace: many small updates from a large set of worlds, each from one batch of them and its last N steps.

All worlds take ``steps_per_update`` steps; then one of ``batches`` groups of worlds, in turn, is learned from, with the last ``num_steps``
steps of each. Most of those were taken by earlier policies, which V-trace corrects for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from worldloom.core.errors import InputError
from worldloom.learn.actions import log_prob_entropy
from worldloom.learn.config import RolloutConfig
from worldloom.learn.field_checks import require_not_negative
from worldloom.learn.learner import Learner, Team
from worldloom.learn.means import Mean
from worldloom.learn.on_policy import OnPolicy, explained_variance
from worldloom.learn.ranks import Ranks
from worldloom.learn.restored import COUNTER, require_choices, take_over
from worldloom.learn.rollout import roll_out
from worldloom.learn.storage import Batch
from worldloom.learn.take import select
from worldloom.learn.trainer import Tensors
from worldloom.learn.vtrace_targets import vtrace


@dataclass(frozen=True)
class VTraceConfig(RolloutConfig):
    """Settings of A2C with V-trace."""

    num_steps: int = 20
    """Last steps of each world that an update learns from."""
    learning_rate: float = 1e-3
    """Step size of the optimiser at the start."""
    batches: int = 4
    """Groups that the worlds are divided into; each update learns from one of them."""
    steps_per_update: int = 5
    """Steps that every world takes between two updates."""
    rho_clip: float = 1.0
    """The most that a correction counts in the advantage of a step."""
    c_clip: float = 1.0
    """The most that a correction counts in what later steps pass on to earlier ones."""
    lam: float = 1.0
    """How much later steps pass on to earlier ones."""
    save_window: bool = True
    """Save the last steps of all worlds with every checkpoint. Without them a training that goes on later first takes new ones."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.schedule == "kl":
            raise InputError("V-trace has no divergence to follow: use schedule constant or linear")
        if not 1 <= self.steps_per_update <= self.num_steps:
            raise InputError(f"steps_per_update must lie between 1 and num_steps ({self.num_steps}), not be {self.steps_per_update}")
        require_not_negative(self, "c_clip", "rho_clip")
        if self.c_clip > self.rho_clip:
            raise InputError(f"c_clip must be at most rho_clip ({self.rho_clip}), not {self.c_clip}")
        if not 0.0 <= self.lam <= 1.0:
            raise InputError(f"lam must lie between 0 and 1, not be {self.lam}")
        if self.batches < 1:
            raise InputError(f"batches must be 1 or more, not {self.batches}")


@dataclass(frozen=True)
class Group:
    """What an update learns from.

    Attributes:
        batch: The steps of some rows, in order; its returns are their rewards.
        dones: Where their episodes ended, shape (steps, rows).
        last: What they see after the last step, by component.
        state: The policy's memory then, shape (rows, state_size).
    """

    batch: Batch
    dones: torch.Tensor
    last: dict[str, torch.Tensor]
    state: torch.Tensor


class VTrace(OnPolicy):
    """Trains policies with A2C and V-trace: ``VTrace("CartPole-v1", VTraceConfig()).learn(1_000_000)``."""

    config: VTraceConfig
    settings = VTraceConfig
    metric_names = ("loss/policy", "loss/value", "loss/entropy", "update/kl", "update/gradient_norm", "update/explained_variance")

    def __init__(
        self,
        env: Any,
        config: VTraceConfig | None = None,
        *,
        network: nn.Module | None = None,
        teams: Mapping[str, Team] | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        super().__init__(env, config, network=network, teams=teams, ranks=ranks)
        self.turn = torch.zeros((), dtype=torch.int64, device=self.device)
        """Updates done: whose turn it is."""
        for learner in self.learners.values():
            learner.player.storage.remember_nothing()

    def check(self, learner: Learner) -> None:
        batches = _config(learner).batches
        if self.simulation.num_worlds % batches:
            raise InputError(f"{self.simulation.num_worlds} worlds cannot be divided into {batches} equal batches: change num_envs or batches")

    def samples_at_once(self, learner: Learner) -> int:
        return super().samples_at_once(learner) // self.config.batches

    @property
    def new_steps(self) -> int:
        return self.config.steps_per_update

    def _roll_out(self) -> None:
        new = range(self.config.num_steps - self.config.steps_per_update, self.config.num_steps)
        for learner in self.learners.values():
            if learner.player.storage.sliding:
                learner.player.storage.forget(self.config.steps_per_update)
        roll_out(self.simulation, [learner.player for learner in self.learners.values()], new, self._captured, valued=False)

    def _update(self) -> None:
        super()._update()
        self.turn += 1

    def _roll_out_and_update(self) -> None:
        super()._roll_out_and_update()
        self.turn += 1

    def gather(self, learner: Learner) -> Group:
        config, kept, agents = _config(learner), learner.player.storage, learner.seats.agents
        worlds = torch.arange(0, kept.rows // agents, config.batches, device=self.device) + self.turn % config.batches
        rows = (worlds[:, None] * agents + torch.arange(agents, device=self.device)).flatten()
        last = {k: select(v, 0, rows) for k, v in learner.seats.observations().items()}
        return Group(kept.rows_of(rows, kept.rewards, kept.rewards), kept.dones.index_select(1, rows), last, learner.player.state.index_select(0, rows))

    def update(self, learner: Learner, gathered: Group) -> None:
        config, policy, batch, dones = _config(learner), learner.policy, gathered.batch, gathered.dones
        mean = Mean(batch.weights, learner.ranks)
        with learner.player.autocast():
            parameters, values = policy.sequence(batch.observations, batch.state, batch.resets)
            log_probs, entropies = log_prob_entropy(policy.spec.action, parameters, batch.actions, batch.masks, policy.log_std)
            with torch.no_grad():
                bootstrap = policy.value(gathered.last, gathered.state)
        known = torch.cat([values.detach(), bootstrap[None]])
        targets, advantages = vtrace(
            batch.log_probs,
            log_probs.detach(),
            batch.returns,
            known,
            dones,
            config.gamma,
            rho_clip=config.rho_clip,
            c_clip=config.c_clip,
            lam=config.lam,
        )
        policy_loss = -mean(log_probs * advantages)
        value_loss = 0.5 * mean((values - targets).square())
        entropy = mean(entropies)
        learner.optimizer.step(policy_loss + config.value_weight * value_loss - config.entropy_weight * entropy)
        with torch.no_grad():
            divergence = mean(batch.log_probs - log_probs)
        explained = explained_variance(values, targets, mean)
        learner.metrics.copy_(torch.stack([policy_loss, value_loss, entropy, divergence, learner.optimizer.gradient_norm, explained]).detach())

    def tensors(self) -> Tensors:
        found = {**super().tensors(), "turn": self.turn}
        if self.ranks.alone and self.config.save_window:
            for name, learner in self.learners.items():
                found |= {f"window/{name}/{key}": tensor for key, tensor in learner.player.storage.tensors().items()}
        return found

    def load_tensors(self, tensors: Tensors) -> None:
        super().load_tensors({k: v for k, v in tensors.items() if k != "turn" and not k.startswith("window/")})
        take_over("training", {"turn": self.turn}, {k: v for k, v in tensors.items() if k == "turn"}, {"turn": COUNTER})
        kept = self.ranks.alone and any(k.startswith("window/") for k in tensors)
        for name, learner in self.learners.items():
            window = learner.player.storage
            if not kept:
                window.remember_nothing()
                continue
            prefix = f"window/{name}/"
            saved = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
            take_over(f"window of policy '{name}'", window.tensors(), saved, {"first": (0, window.steps - 1)})
            if window.spec.action.kind == "categorical":
                require_choices(f"'actions' in the saved window of policy '{name}'", window.actions, window.spec.action.sizes)


def _config(learner: Learner) -> VTraceConfig:
    assert isinstance(learner.config, VTraceConfig)
    return learner.config
