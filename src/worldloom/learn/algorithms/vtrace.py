"""A2C with V-trace: many small updates, each from a part of the worlds.

All worlds take ``steps_per_update`` steps. Then the policy is updated from the last ``num_steps`` steps of one of
``batches`` groups of worlds, in turn. Most of these steps were taken by earlier policies, which V-trace corrects for.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.actions.distributions import log_prob_entropy
from worldloom.learn.algorithms.learner import Learner
from worldloom.learn.algorithms.on_policy import OnPolicyTrainer
from worldloom.learn.algorithms.saved_steps import load_steps
from worldloom.learn.config.train_config import RolloutConfig
from worldloom.learn.config.validation import require_not_negative
from worldloom.learn.device.gather import index_select
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.losses.policy_loss import loss_weights
from worldloom.learn.losses.vtrace_targets import vtrace
from worldloom.learn.native.policy_step import PolicyStep
from worldloom.learn.networks.evaluation_mode import evaluation_mode
from worldloom.learn.rollout.storage import RolloutBatch
from worldloom.learn.training.restore_checks import COUNTER_RANGE, load_checked
from worldloom.learn.training.trainer import Tensors


@dataclass(frozen=True)
class VTraceConfig(RolloutConfig):
    """Settings of A2C with V-trace."""

    num_steps: int = 20
    """Window length: the last steps of each world that an update uses."""
    learning_rate: float = 1e-3
    """Initial learning rate."""
    batches: int = 4
    """Batches that the worlds are divided into; each update uses one of them."""
    steps_per_update: int = 5
    """Steps of every world between two updates."""
    rho_clip: float = 1.0
    """Clip of the importance weight rho in TD errors (rho-bar)."""
    c_clip: float = 1.0
    """Clip of the trace weight c (c-bar); at most rho_clip."""
    lam: float = 1.0
    """Lambda: decay of the traces, 0 to 1."""
    save_window: bool = True
    """Save the window of all worlds with every checkpoint. Without it a resumed training first fills a new one."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.schedule == "kl":
            raise InputError("schedule kl does not apply to V-trace: use schedule constant or linear")
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
    """What one update uses.

    Attributes:
        batch: The steps of some rows, in order. Its returns hold the rewards.
        dones: Whether an episode ended, shape (steps, rows).
        last: Observations after the last step, by component.
        state: The recurrent state after the last step, shape (rows, state_size).
    """

    batch: RolloutBatch
    dones: torch.Tensor
    last: dict[str, torch.Tensor]
    state: torch.Tensor


class VTrace(OnPolicyTrainer):
    """Trains policies with A2C and V-trace: ``VTrace("CartPole-v1", VTraceConfig()).learn(1_000_000)``."""

    config: VTraceConfig
    config_class = VTraceConfig
    independent_updates = True
    metric_names = (
        "loss/policy",
        "loss/value",
        "loss/entropy",
        "update/kl",
        "update/gradient_norm",
        "update/explained_variance",
    )

    def _setup(self) -> None:
        super()._setup()
        self.turn = torch.zeros((), dtype=torch.int64, device=self.device)
        """Updates done. It selects the batch of worlds of the next update."""
        for learner in self.learners.values():
            learner.actor.storage.invalidate_all()

    def check(self, learner: Learner) -> None:
        batches = _config(learner).batches
        if self.simulation.num_worlds % batches:
            raise InputError(
                f"{self.simulation.num_worlds} worlds cannot be divided into {batches} equal batches: "
                "change num_envs or batches"
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
        self._take_steps(new, valued=False)

    def _update(self) -> None:
        super()._update()
        self.turn += 1

    def _roll_out_and_update(self) -> None:
        super()._roll_out_and_update()
        self.turn += 1

    def training_batch(self, learner: Learner) -> VTraceBatch:
        config, storage, agents = _config(learner), learner.actor.storage, learner.agent_group.agents
        worlds = (
            torch.arange(0, storage.rows // agents, config.batches, device=self.device) + self.turn % config.batches
        )
        rows = (worlds[:, None] * agents + torch.arange(agents, device=self.device)).flatten()
        last = {k: index_select(v, 0, rows) for k, v in learner.agent_group.observations().items()}
        return VTraceBatch(
            storage.gather_rows(rows, storage.rewards, storage.rewards),
            storage.dones.index_select(1, rows),
            last,
            learner.actor.state.index_select(0, rows),
        )

    def update(self, learner: Learner, gathered: VTraceBatch) -> None:
        if learner.native_step is not None:
            self._update_native(learner, learner.native_step, gathered)
            return
        policy, batch, dones = learner.policy, gathered.batch, gathered.dones
        mean = WeightedMean(batch.weights, learner.ranks)
        with learner.autocast():
            parameters, values = batch.evaluate(policy)
            log_probs, entropies = log_prob_entropy(
                policy.spec.action, parameters, batch.actions, batch.masks, policy.log_std
            )
            with torch.no_grad(), evaluation_mode(policy):
                bootstrap = policy.value(gathered.last, gathered.state)
        bootstrapped = learner.denormalized(torch.cat([values.detach(), bootstrap[None]]))
        targets, advantages = vtrace(
            batch.log_probs,
            log_probs.detach(),
            batch.returns,
            bootstrapped,
            dones,
            learner.setting("gamma"),
            rho_clip=learner.setting("rho_clip"),
            c_clip=learner.setting("c_clip"),
            lam=learner.setting("lam"),
        )
        explained = mean.explained_variance(bootstrapped[:-1], targets)
        targets, _ = learner.normalize_targets(targets, bootstrapped[:-1], batch.weights)
        policy_loss = -mean(log_probs * advantages)
        value_loss = 0.5 * mean((values - targets).square())
        entropy = mean(entropies)
        value_weight, entropy_weight = learner.setting("value_weight"), learner.setting("entropy_weight")
        learner.optimizer.step(policy_loss + value_weight * value_loss - entropy_weight * entropy)
        with torch.no_grad():
            divergence = mean(batch.log_probs - log_probs)
        learner.metrics.copy_(
            torch.stack(
                [policy_loss, value_loss, entropy, divergence, learner.optimizer.gradient_norm, explained]
            ).detach()
        )

    def _update_native(self, learner: Learner, step: PolicyStep, gathered: VTraceBatch) -> None:
        """The same with native kernels."""
        config, policy, batch, shape = _config(learner), learner.policy, gathered.batch, gathered.dones.shape
        mean = WeightedMean(batch.weights, learner.ranks)
        with torch.no_grad():
            flat, current = step.evaluate({k: v.flatten(0, 1) for k, v in batch.observations.items()})
            parameters, values = flat.unflatten(0, shape), current.unflatten(0, shape).clone()
            log_probs, _ = log_prob_entropy(policy.spec.action, parameters, batch.actions, batch.masks, policy.log_std)
            bootstrapped = learner.denormalized(torch.cat([values, step.evaluate(gathered.last)[1][None]]))
        targets, advantages = vtrace(
            batch.log_probs,
            log_probs,
            batch.returns,
            bootstrapped,
            gathered.dones,
            config.gamma,
            rho_clip=config.rho_clip,
            c_clip=config.c_clip,
            lam=config.lam,
        )
        explained = mean.explained_variance(bootstrapped[:-1], targets)
        targets, _ = learner.normalize_targets(targets, bootstrapped[:-1], batch.weights)
        staged = step.staged(replace(batch, advantages=advantages, returns=targets))
        settings = loss_weights(0.0, 0.0, config.value_weight, config.entropy_weight)
        minibatch = step.minibatch(staged, values.numel(), settings, learner.actor.storage.starts, False)
        learner.metrics[:3].copy_(minibatch.step(step.all_indices(values.numel()))[:3])
        learner.metrics[3].copy_(mean(batch.log_probs - log_probs))
        learner.metrics[4].copy_(learner.optimizer.gradient_norm)
        learner.metrics[5].copy_(explained)

    @property
    def _saves_rollout(self) -> bool:
        return super()._saves_rollout and self.config.save_window

    def _rollout_tensors(self, learner: Learner) -> Tensors:
        return learner.actor.storage.bootstrap_tensors()  # the steps are in the window

    def tensors(self) -> Tensors:
        state = {**super().tensors(), "turn": self.turn}
        if self.ranks.is_single and self.config.save_window:
            for name, learner in self.learners.items():
                state |= {f"window/{name}/{key}": tensor for key, tensor in learner.actor.storage.tensors().items()}
        return state

    def load_tensors(self, tensors: Tensors) -> None:
        super().load_tensors({k: v for k, v in tensors.items() if k != "turn" and not k.startswith("window/")})
        load_checked(
            "training", {"turn": self.turn}, {k: v for k, v in tensors.items() if k == "turn"}, {"turn": COUNTER_RANGE}
        )
        has_window = self.ranks.is_single and any(k.startswith("window/") for k in tensors)
        for name, learner in self.learners.items():
            window = learner.actor.storage
            if not has_window:
                window.invalidate_all()
                continue
            prefix = f"window/{name}/"
            saved = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
            load_steps(f"window of policy '{name}'", window, window.tensors(), saved)


def _config(learner: Learner) -> VTraceConfig:
    assert isinstance(learner.config, VTraceConfig)
    return learner.config
