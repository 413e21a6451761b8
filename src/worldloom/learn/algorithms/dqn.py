"""DQN: Q-learning from a replay buffer, with double Q, n-step returns, dueling networks and prioritized replay.

The schedule of epsilon is :meth:`DQNConfig.epsilon`; :mod:`worldloom.learn.actions.epsilon_greedy` samples with it.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace

import torch

from worldloom.core.base.errors import InputError
from worldloom.core.schedule.entries import Autoreset
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.policy_trainer import PolicyTrainer
from worldloom.learn.algorithms.q_learner import REPLAY, QLearner
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.config.train_config import Schedule, TrainConfig
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.losses.td_loss import huber, td_errors, td_targets
from worldloom.learn.networks.evaluation_mode import evaluation_mode
from worldloom.learn.training.trainer import Tensors


@dataclass(frozen=True)
class DQNConfig(TrainConfig):
    """Settings of DQN."""

    num_envs: int = 64
    """Number of parallel worlds, over all processes; on the command line also auto, which measures the fastest."""
    total_steps: int = 150_000
    """Total environment steps, summed over all worlds."""
    learning_rate: float = 2e-3
    """Initial learning rate."""
    schedule: Schedule = "linear"
    """Learning rate schedule: constant, or linear decay to 0 over the training."""
    max_gradient_norm: float = 10.0
    """Maximum gradient norm; 0 for no clipping."""
    policy: PolicyConfig = field(default_factory=lambda: PolicyConfig(hidden=(128, 128)))
    """Settings of the network."""
    double: bool = True
    """Double DQN: the online network selects the next action, the target network evaluates it."""
    n_step: int = 3
    """Number of rewards n of an n-step TD target."""
    replay_capacity: int = 200_000
    """Replay buffer size in transitions, over all agents and processes."""
    save_replay: bool = True
    """Save the replay buffer with every checkpoint. Without it a resumed training first fills a new one."""
    batch_size: int = 256
    """Minibatch size in transitions, over all processes."""
    learning_starts: int = 5_000
    """Environment steps, over all worlds, before the first update."""
    steps_per_update: int = 1
    """Steps of every world between two updates."""
    updates: int = 4
    """Optimizer steps per update."""
    target_update: int = 1
    """Target network update interval, in updates."""
    tau: float = 0.05
    """Polyak coefficient of the target network update; 1 for a hard copy."""
    epsilon_start: float = 1.0
    """Initial epsilon of epsilon-greedy exploration; with points, epsilon follows them alone."""
    epsilon_end: float = 0.05
    """Final epsilon."""
    epsilon_fraction: float = 0.2
    """Fraction of the training over which epsilon decays linearly."""
    huber: float = 1.0
    """Threshold delta of the Huber loss; 0 for the squared error."""
    prioritized: bool = False
    """Prioritized replay by TD error, with importance-sampling weights."""
    priority_alpha: float = 0.6
    """Priority exponent alpha: 0 for uniform sampling, 1 for sampling proportional to the TD error."""
    priority_beta: float = 0.4
    """Initial importance-sampling exponent beta; it anneals linearly to 1."""
    stack: int = 1
    """Frames stacked along the first axis of an image observation; only the newest is stored."""

    fixed_numbers = ("epsilon_end", "epsilon_fraction", "huber", "priority_beta")

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
        if self.eval_stochastic:
            raise InputError("eval_stochastic does not apply to DQN, whose policy has no action probabilities: omit it")
        if self.schedule == "kl":
            raise InputError("schedule kl does not apply to DQN: use schedule constant or linear")

    def epsilon(self, fraction: float) -> float:
        """Epsilon after ``fraction`` of the training, where ``epsilon_start`` is one number."""
        done = min(1.0, fraction / self.epsilon_fraction) if self.epsilon_fraction > 0.0 else 1.0
        return self.epsilon_start + (self.epsilon_end - self.epsilon_start) * done


class DQN(PolicyTrainer[QLearner]):
    """Trains Q networks with DQN: ``DQN("CartPole-v1", DQNConfig()).learn()``.

    An environment that is given must have next-step autoreset. See :class:`PolicyTrainer` for the arguments.
    """

    autoreset: Autoreset = "next_step"
    config: DQNConfig
    config_class = DQNConfig
    metric_names = ("loss/value", "value/mean", "update/gradient_norm", "update/epsilon")

    def _check_config(self, config: DQNConfig) -> None:
        if config.batch_size % self.ranks.size:
            raise InputError(
                f"batches of {config.batch_size} transitions cannot be shared evenly by {self.ranks.size} processes: "
                f"use a multiple of {self.ranks.size}"
            )

    def _make_learner(
        self, name: str, policy_group: PolicyGroup, config: DQNConfig, number: int, policies: int
    ) -> QLearner:
        own = self._config_of(policy_group)
        return QLearner(name, policy_group, own, self.simulation, number, policies, self.ranks, len(self.metric_names))

    def _pending_steps(self) -> int:
        return self.config.replay_capacity  # an observation that is not finite stops the training in any case

    def _setup(self) -> None:
        self._added_steps = 0
        """Steps of every world that were added to the replay buffer."""
        self._act = self._graphed(self._steps, exchanges=False)
        self._learn = self._graphed(self._update, exchanges=True)
        self._summarize = self._graphed(self._summaries, exchanges=True)

    def _config_of(self, policy_group: PolicyGroup) -> DQNConfig:
        """The settings of a policy group: its own, except those that all policies share."""
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
        """Whether the replay buffer holds enough steps for updates."""
        return self._suffices(self._added_steps)

    def _suffices(self, steps: int) -> bool:
        """Whether ``steps`` steps of every world in the replay buffer are enough for updates."""
        return steps > self._max_n_step and steps * self.config.num_envs >= self.config.learning_starts

    @property
    def _max_n_step(self) -> int:
        """The largest ``n_step`` of any policy."""
        return max(learner.config.n_step for learner in self.learners.values())

    @property
    def notice(self) -> str:
        worlds, per_iteration, last = self.config.num_envs, self.config.steps_per_update, self.config.total_steps
        iterations = max(0, -(-(last - self.steps) // (worlds * per_iteration)))
        at_end = self._added_steps + iterations * per_iteration
        if iterations == 0 or self._suffices(at_end):
            return super().notice
        return (
            "nothing will be learned: "
            f"the first update needs learning_starts={self.config.learning_starts:,} steps in the replay, "
            f"more than n_step={self._max_n_step} of each world, "
            f"and at total_steps={last:,} there are {at_end * worlds:,}, {at_end:,} of each"
        )

    def max_op_elements(self) -> int:
        samples = max(self.config.batch_size // self.ranks.size, self.simulation.num_worlds)
        return max(samples * int(learner.policy.width) for learner in self.learners.values())

    def iterate(self) -> int:
        for learner in self.learners.values():
            learner.schedule(self.steps, self.config.total_steps)
        self.observation_check.steps.fill_(self.steps // self.config.num_envs)
        self._reports.mark()
        self._act()
        self._added_steps += self.config.steps_per_update
        self._reports.mark()
        if self.learning:
            self._learn()
            if (self.iteration + 1) % self.config.target_update == 0:
                for learner in self.learners.values():
                    learner.update_target()
        self._summarize()
        return self.config.steps_per_update

    def _steps(self) -> None:
        self.observation_check.begin()
        with torch.no_grad(), ExitStack() as modes:
            for learner in self.learners.values():
                modes.enter_context(evaluation_mode(learner.policy))
            for step in range(self.config.steps_per_update):
                for name, learner in self.learners.items():
                    learner.act(step)
                    self.observation_check.scan(name, learner.agent_group.observations(), step, learner.valid)
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
        """Take ``updates`` optimizer steps, and write ``metric_names`` to ``learner.metrics``."""
        config, replay = learner.config, learner.replay
        assert replay is not None
        if replay.priorities is not None:
            replay.priorities.anneal(learner.progress)
        learner.metrics.zero_()
        for _ in range(config.updates):
            batch = replay.sample(config.batch_size // learner.ranks.size)
            with learner.autocast(), evaluation_mode(learner.policy):
                targets = td_targets(learner.q_values, learner.target_values, batch, config.double)
            if learner.native_step is not None:
                statistics, errors = learner.native_step(batch, targets)
                if replay.priorities is not None:
                    replay.priorities.update(batch.indices, errors)
                learner.metrics[:2] += statistics
                learner.metrics[2] += learner.optimizer.gradient_norm
                continue
            with learner.autocast():
                errors, values = td_errors(learner.policy, batch, targets)
            mean = WeightedMean((batch.weights > 0.0).float(), learner.ranks)
            loss = mean(batch.weights * huber(errors, config.huber))
            learner.optimizer.step(loss)
            if replay.priorities is not None:
                replay.priorities.update(batch.indices, errors)
            learner.metrics[:3] += torch.stack([loss, mean(values), learner.optimizer.gradient_norm]).detach()
        learner.metrics[:3] /= config.updates

    def _summaries(self) -> None:
        for name, learner in self.learners.items():
            is_bad = self.observation_check.is_bad(name)  # the replay holds 0 instead, so that no loss shows it
            learner.metrics[0].copy_(torch.where(is_bad, torch.nan, learner.metrics[0]))
            learner.metrics[3:].copy_(learner.explorer.epsilon)
            learner.summarize()

    def _is_saved(self, key: str) -> bool:
        return super()._is_saved(key) and (self.config.save_replay or f"/{REPLAY}" not in key)

    def load_tensors(self, tensors: Tensors) -> None:
        for name, learner in self.learners.items():
            learner.load(self._saved_of(name, tensors))
        replays = [learner.replay for learner in self.learners.values() if learner.replay is not None]
        self._added_steps = max((int(replay.cursor.item()) for replay in replays), default=0)
