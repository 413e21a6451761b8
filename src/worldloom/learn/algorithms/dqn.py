"""DQN: Q learning from a replay, with double targets, n-step returns, duelling networks and prioritised draws."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from worldloom.core.base.errors import InputError
from worldloom.core.schedule.schedule import Autoreset
from worldloom.learn.algorithms.learner import PolicyGroup, check_policy_groups, resolve_policy_groups
from worldloom.learn.algorithms.q_learner import MASK, REPLAY, QLearner
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.train_config import Schedule, TrainConfig
from worldloom.learn.device.cuda_graphs import CudaGraphed
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.networks.q_network import QNetwork
from worldloom.learn.rollout.replay_buffer import TransitionBatch
from worldloom.learn.training.trainer import Tensors, Trainer


@dataclass(frozen=True)
class DQNConfig(TrainConfig):
    """Settings of DQN."""

    num_envs: int = 64
    """Worlds that run side by side, over all processes."""
    total_steps: int = 150_000
    """World steps to train for, over all worlds."""
    learning_rate: float = 2e-3
    """Step size of the optimiser at the start."""
    schedule: Schedule = "linear"
    """How the step size changes: not at all (constant), or linearly to 0 over the training."""
    max_gradient_norm: float = 10.0
    """Gradients longer than this are shortened to it; 0 for no limit."""
    policy: PolicyConfig = field(default_factory=lambda: PolicyConfig(hidden=(128, 128)))
    """The network."""
    double: bool = True
    """Let the trained network choose the action whose value the target network gives; otherwise the target network does both."""
    n_step: int = 3
    """Rewards that a target counts before it trusts the value."""
    replay_capacity: int = 200_000
    """Transitions that are kept, over all agents and processes."""
    save_replay: bool = True
    """Save the replay with every checkpoint. Without it a training that goes on later first fills a new one."""
    batch_size: int = 256
    """Transitions of each step of the optimiser, over all processes."""
    learning_starts: int = 5_000
    """World steps, over all worlds, before the first update."""
    steps_per_update: int = 1
    """Steps that every world takes between two updates."""
    updates: int = 4
    """Steps of the optimiser in each update."""
    target_update: int = 1
    """Updates between two moves of the target network."""
    tau: float = 0.05
    """How far the target network moves towards the trained one; 1 to copy it."""
    epsilon_start: float = 1.0
    """How often an agent acts at random at first."""
    epsilon_end: float = 0.05
    """How often it does in the end."""
    epsilon_fraction: float = 0.2
    """The part of the training in which it gets there, linearly."""
    huber: float = 1.0
    """Errors count squared up to this size and linearly beyond; 0 for squared always."""
    prioritized: bool = False
    """Draw transitions that surprised more often, and weigh them less."""
    priority_alpha: float = 0.6
    """How much surprise counts in a draw: 0 for not at all, 1 for in proportion."""
    priority_beta: float = 0.4
    """How much of the bias of such draws is corrected at first; it grows linearly to 1."""
    stack: int = 1
    """How many frames an image holds along its first axis; of several only the newest is stored."""

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in (
            "n_step",
            "replay_capacity",
            "batch_size",
            "steps_per_update",
            "updates",
            "target_update",
            "stack",
        ):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be 1 or more, not {getattr(self, name)}")
        for name in ("epsilon_start", "epsilon_end", "epsilon_fraction", "priority_beta"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise InputError(f"{name} must lie between 0 and 1, not be {getattr(self, name)}")
        for name in ("learning_starts", "huber", "priority_alpha"):
            if not getattr(self, name) >= 0:
                raise InputError(f"{name} must be 0 or more, not {getattr(self, name)}")
        if not 0.0 < self.tau <= 1.0:
            raise InputError(f"tau must be greater than 0 and at most 1, not {self.tau}")
        if self.schedule == "kl":
            raise InputError("DQN has no divergence to follow: use schedule constant or linear")

    def epsilon(self, fraction: float) -> float:
        """How often an agent acts at random once ``fraction`` of the training is done."""
        done = min(1.0, fraction / self.epsilon_fraction) if self.epsilon_fraction > 0.0 else 1.0
        return self.epsilon_start + (self.epsilon_end - self.epsilon_start) * done


def td_targets(policy: QNetwork, target: QNetwork, batch: TransitionBatch, double: bool) -> torch.Tensor:
    """What the value of each transition's action should be, [B]; without gradients.

    The best allowed action of the state that follows is chosen by ``policy`` where ``double``, else by ``target``; its value is always that of
    ``target``. It counts as ``batch.discounts`` says: not at all after a termination, fully at a time limit.
    """
    following = {k: v for k, v in batch.next_observations.items() if k != MASK}
    mask = batch.next_observations.get(MASK)
    with torch.no_grad():
        values = target(following)
        ranking = policy(following) if double else values
        if mask is not None:
            allowed = mask | ~mask.any(dim=1, keepdim=True)  # where no choice is allowed, all are, as when acting
            ranking = ranking.masked_fill(~allowed, -torch.inf)
        best = ranking.argmax(dim=1, keepdim=True)
        return batch.rewards + batch.discounts * values.gather(1, best).squeeze(1)


def td_errors(policy: QNetwork, batch: TransitionBatch, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """How far the targets lie above the values of the actions that were taken, [B], and those values, [B]."""
    values = policy({k: v for k, v in batch.observations.items() if k != MASK})
    taken = values.gather(1, batch.actions.long()).squeeze(1)
    return targets - taken, taken


def huber(errors: torch.Tensor, width: float) -> torch.Tensor:
    """Half the square of each error up to ``width``, linear beyond; the square alone for a width of 0."""
    if width == 0.0:
        return 0.5 * errors.square()
    return functional.huber_loss(errors, torch.zeros_like(errors), reduction="none", delta=width)


class DQN(Trainer):
    """Trains Q networks with DQN: ``DQN("CartPole-v1", DQNConfig()).learn()``.

    Args:
        env: A world's id, or an environment of worldloom.make with next-step autoreset.
        config: The settings.
        network: A module to use as the Q network, where one policy plays all: observations in, a value per choice out.
        teams: Which agents share which policy, by the policy's name; None for a policy per kind of agent.
        ranks: This process among those that train together.
    """

    autoreset: Autoreset = "next_step"
    config: DQNConfig
    settings = DQNConfig
    metric_names = ("loss/value", "value/mean", "update/gradient_norm", "update/epsilon")

    def __init__(
        self,
        env: Any,
        config: DQNConfig | None = None,
        *,
        network: nn.Module | None = None,
        policy_groups: Mapping[str, PolicyGroup] | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        config = self.resolve_config(config)
        super().__init__(env, config, ranks)
        if config.batch_size % self.ranks.size:
            raise InputError(
                f"batches of {config.batch_size} transitions cannot be shared evenly by {self.ranks.size} processes: use a multiple of {self.ranks.size}"
            )
        given = resolve_policy_groups(self.simulation, config, network, policy_groups)
        self.learners = {
            name: QLearner(
                name,
                policy_group,
                self._config_of(policy_group),
                self.simulation,
                number,
                len(given),
                self.ranks,
                len(self.metric_names),
            )
            for number, (name, policy_group) in enumerate(given.items())
        }
        """Every policy in training, by name."""
        check_policy_groups(self.simulation, self.learners)
        self._in_replay = 0
        """Steps of every world that are or were in the replay."""
        captured = config.graphs and not self.simulation.has_host_calls
        self._captured = captured and self.device.type == "cuda"
        self._act = CudaGraphed(self._steps, self.device, captured, self._version)
        self._learn = CudaGraphed(self._update, self.device, captured and self.ranks.capturable, self._version)
        self._summarize = CudaGraphed(self._summaries, self.device, captured and self.ranks.capturable, self._version)

    def _config_of(self, policy_group: PolicyGroup) -> DQNConfig:
        """The settings of a team: its own, but for those that say when all act and learn."""
        if policy_group.config is None:
            return self.config
        assert isinstance(policy_group.config, DQNConfig)
        shared = (
            "num_envs",
            "total_steps",
            "device",
            "learning_starts",
            "steps_per_update",
            "target_update",
            "save_replay",
            "batch_size",
        )
        return replace(policy_group.config, **{k: getattr(self.config, k) for k in shared})

    @property
    def learning(self) -> bool:
        """Whether enough was seen to learn from."""
        return self._suffices(self._in_replay)

    def _suffices(self, in_replay: int) -> bool:
        """Whether there is something to learn from once so many steps of every world were in the replay."""
        return in_replay > self._longest and in_replay * self.config.num_envs >= self.config.learning_starts

    @property
    def _longest(self) -> int:
        """The most rewards that a target of any policy counts."""
        return max(learner.config.n_step for learner in self.learners.values())

    @property
    def notice(self) -> str:
        worlds, each, last = self.config.num_envs, self.config.steps_per_update, self.config.total_steps
        iterations = max(0, -(-(last - self.steps) // (worlds * each)))
        at_last = self._in_replay + iterations * each
        if iterations == 0 or self._suffices(at_last):
            return ""
        needed = f"learning_starts={self.config.learning_starts:,} steps in the replay, more than n_step={self._longest} of each world"
        return f"nothing will be learned: the first update needs {needed}, and at total_steps={last:,} there are {at_last * worlds:,}, {at_last:,} of each"

    def _version(self) -> tuple[int, ...]:
        """What a recorded iteration depends on: the worlds' configuration, and who learns."""
        return self.simulation.config_version, *(int(learner.train) for learner in self.learners.values())

    def max_op_elements(self) -> int:
        samples = max(self.config.batch_size // self.ranks.size, self.simulation.num_worlds)
        return max(samples * int(learner.policy.width) for learner in self.learners.values())

    def iterate(self) -> int:
        for learner in self.learners.values():
            learner.schedule(self.steps / self.config.total_steps)
        self._reports.mark()
        self._act()
        self._in_replay += self.config.steps_per_update
        self._reports.mark()
        if self.learning:
            self._learn()
            if (self.iteration + 1) % self.config.target_update == 0:
                for learner in self.learners.values():
                    learner.update_target()
        self._summarize()
        return self.config.steps_per_update

    def _steps(self) -> None:
        with torch.no_grad():
            for step in range(self.config.steps_per_update):
                for learner in self.learners.values():
                    learner.act(step)
                self.simulation.enqueue_step() if self._captured else self.simulation.step()
                for learner in self.learners.values():
                    learner.record(step)
            for learner in self.learners.values():
                learner.explorer.advance(self.config.steps_per_update)

    def _update(self) -> None:
        for learner in self.learners.values():
            if learner.train:
                self.update(learner)

    def update(self, learner: QLearner) -> None:
        """Take ``updates`` steps of the optimiser, and leave ``metric_names`` in ``learner.metrics``."""
        config, replay = learner.config, learner.replay
        assert replay is not None
        if replay.priorities is not None:
            replay.priorities.anneal(learner.progress)
        learner.metrics.zero_()
        for _ in range(config.updates):
            batch = replay.sample(config.batch_size // learner.ranks.size)
            with learner.autocast():
                targets = td_targets(learner.policy, learner.target, batch, config.double)
                errors, values = td_errors(learner.policy, batch, targets)
            mean = WeightedMean((batch.weights > 0.0).float(), learner.ranks)
            loss = mean(batch.weights * huber(errors, config.huber))
            learner.optimizer.step(loss)
            if replay.priorities is not None:
                replay.priorities.update(batch.indices, errors)
            learner.metrics[:3] += torch.stack([loss, mean(values), learner.optimizer.gradient_norm]).detach()
        learner.metrics[:3] /= config.updates

    def _summaries(self) -> None:
        for learner in self.learners.values():
            learner.metrics[3:].copy_(learner.explorer.epsilon)
            learner.summarize()

    def summaries(self) -> Mapping[str, torch.Tensor]:
        return {name: learner.summary for name, learner in self.learners.items()}

    def is_trained(self, policy: str) -> bool:
        return self.learners[policy].train

    def tensors(self) -> Tensors:
        found = {
            f"{name}/{key}": tensor
            for name, learner in self.learners.items()
            for key, tensor in learner.tensors().items()
        }
        kept = {k: v for k, v in found.items() if self.ranks.is_single or "/rows/" not in k}
        return kept if self.config.save_replay else {k: v for k, v in kept.items() if f"/{REPLAY}" not in k}

    def load_tensors(self, tensors: Tensors) -> None:
        for name, learner in self.learners.items():
            learner.load(
                {
                    k.removeprefix(f"{name}/"): v
                    for k, v in tensors.items()
                    if k.startswith(f"{name}/") and (self.ranks.is_single or "/rows/" not in k)
                }
            )
        self._in_replay = max(
            (int(r.cursor.item()) for r in (learner.replay for learner in self.learners.values()) if r is not None),
            default=0,
        )
