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

from worldloom.core.base.errors import InputError
from worldloom.learn.actions.distributions import log_prob_entropy
from worldloom.learn.algorithms.learner import Learner, PolicyGroup
from worldloom.learn.algorithms.on_policy import OnPolicyTrainer, explained_variance
from worldloom.learn.config.train_config import RolloutConfig
from worldloom.learn.config.validation import require_not_negative
from worldloom.learn.device.gather import index_select
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.losses.vtrace_targets import vtrace
from worldloom.learn.rollout.rollout_actor import roll_out
from worldloom.learn.rollout.storage import RolloutBatch
from worldloom.learn.training.restore_checks import COUNTER_RANGE, load_checked, require_choices
from worldloom.learn.training.trainer import Tensors


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
            raise InputError(
                f"steps_per_update must lie between 1 and num_steps ({self.num_steps}), not be {self.steps_per_update}"
            )
        require_not_negative(self, "c_clip", "rho_clip")
        if self.c_clip > self.rho_clip:
            raise InputError(f"c_clip must be at most rho_clip ({self.rho_clip}), not {self.c_clip}")
        if not 0.0 <= self.lam <= 1.0:
            raise InputError(f"lam must lie between 0 and 1, not be {self.lam}")
        if self.batches < 1:
            raise InputError(f"batches must be 1 or more, not {self.batches}")


@dataclass(frozen=True)
class VTraceBatch:
    """What an update learns from.

    Attributes:
        batch: The steps of some rows, in order; its returns are their rewards.
        dones: Where their episodes ended, shape (steps, rows).
        last: What they see after the last step, by component.
        state: The policy's memory then, shape (rows, state_size).
    """

    batch: RolloutBatch
    dones: torch.Tensor
    last: dict[str, torch.Tensor]
    state: torch.Tensor


class VTrace(OnPolicyTrainer):
    """Trains policies with A2C and V-trace: ``VTrace("CartPole-v1", VTraceConfig()).learn(1_000_000)``."""

    config: VTraceConfig
    settings = VTraceConfig
    metric_names = (
        "loss/policy",
        "loss/value",
        "loss/entropy",
        "update/kl",
        "update/gradient_norm",
        "update/explained_variance",
    )

    def __init__(
        self,
        env: Any,
        config: VTraceConfig | None = None,
        *,
        network: nn.Module | None = None,
        policy_groups: Mapping[str, PolicyGroup] | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        super().__init__(env, config, network=network, policy_groups=policy_groups, ranks=ranks)
        self.turn = torch.zeros((), dtype=torch.int64, device=self.device)
        """Updates done: whose turn it is."""
        for learner in self.learners.values():
            learner.actor.storage.invalidate_all()

    def check(self, learner: Learner) -> None:
        batches = _config(learner).batches
        if self.simulation.num_worlds % batches:
            raise InputError(
                f"{self.simulation.num_worlds} worlds cannot be divided into {batches} equal batches: change num_envs or batches"
            )

    def minibatch_samples(self, learner: Learner) -> int:
        return super().minibatch_samples(learner) // self.config.batches

    @property
    def new_steps(self) -> int:
        return self.config.steps_per_update

    def _roll_out(self) -> None:
        new = range(self.config.num_steps - self.config.steps_per_update, self.config.num_steps)
        for learner in self.learners.values():
            if learner.actor.storage.sliding:
                learner.actor.storage.drop_oldest(self.config.steps_per_update)
        roll_out(
            self.simulation, [learner.actor for learner in self.learners.values()], new, self._captured, valued=False
        )

    def _update(self) -> None:
        super()._update()
        self.turn += 1

    def _roll_out_and_update(self) -> None:
        super()._roll_out_and_update()
        self.turn += 1

    def training_batch(self, learner: Learner) -> VTraceBatch:
        config, kept, agents = _config(learner), learner.actor.storage, learner.agent_group.agents
        worlds = torch.arange(0, kept.rows // agents, config.batches, device=self.device) + self.turn % config.batches
        rows = (worlds[:, None] * agents + torch.arange(agents, device=self.device)).flatten()
        last = {k: index_select(v, 0, rows) for k, v in learner.agent_group.observations().items()}
        return VTraceBatch(
            kept.gather_rows(rows, kept.rewards, kept.rewards),
            kept.dones.index_select(1, rows),
            last,
            learner.actor.state.index_select(0, rows),
        )

    def update(self, learner: Learner, gathered: VTraceBatch) -> None:
        config, policy, batch, dones = _config(learner), learner.policy, gathered.batch, gathered.dones
        mean = WeightedMean(batch.weights, learner.ranks)
        with learner.actor.autocast():
            parameters, values = policy.sequence(batch.observations, batch.state, batch.resets)
            log_probs, entropies = log_prob_entropy(
                policy.spec.action, parameters, batch.actions, batch.masks, policy.log_std
            )
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
        learner.metrics.copy_(
            torch.stack(
                [policy_loss, value_loss, entropy, divergence, learner.optimizer.gradient_norm, explained]
            ).detach()
        )

    def tensors(self) -> Tensors:
        found = {**super().tensors(), "turn": self.turn}
        if self.ranks.is_single and self.config.save_window:
            for name, learner in self.learners.items():
                found |= {f"window/{name}/{key}": tensor for key, tensor in learner.actor.storage.tensors().items()}
        return found

    def load_tensors(self, tensors: Tensors) -> None:
        super().load_tensors({k: v for k, v in tensors.items() if k != "turn" and not k.startswith("window/")})
        load_checked(
            "training", {"turn": self.turn}, {k: v for k, v in tensors.items() if k == "turn"}, {"turn": COUNTER_RANGE}
        )
        kept = self.ranks.is_single and any(k.startswith("window/") for k in tensors)
        for name, learner in self.learners.items():
            window = learner.actor.storage
            if not kept:
                window.invalidate_all()
                continue
            prefix = f"window/{name}/"
            saved = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
            load_checked(f"window of policy '{name}'", window.tensors(), saved, {"first": (0, window.steps - 1)})
            if window.spec.action.kind == "categorical":
                require_choices(
                    f"'actions' in the saved window of policy '{name}'", window.actions, window.spec.action.sizes
                )


def _config(learner: Learner) -> VTraceConfig:
    assert isinstance(learner.config, VTraceConfig)
    return learner.config
