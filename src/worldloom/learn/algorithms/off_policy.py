"""The common part of algorithms that learn from a replay buffer: settings, the iteration, and the saved state."""

from __future__ import annotations

from abc import abstractmethod
from contextlib import ExitStack
from dataclasses import replace
from typing import Generic, TypeVar

import torch

from worldloom.core.base.errors import InputError
from worldloom.core.schedule.entries import Autoreset
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.policy_trainer import PolicyTrainer
from worldloom.learn.algorithms.replay_learner import REPLAY, ReplayLearner
from worldloom.learn.config.replay_config import ReplayConfig
from worldloom.learn.networks.evaluation_mode import evaluation_mode
from worldloom.learn.training.trainer import Tensors

ReplayLearnerT = TypeVar("ReplayLearnerT", bound=ReplayLearner)


class OffPolicyTrainer(PolicyTrainer[ReplayLearnerT], Generic[ReplayLearnerT]):
    """Acts, adds the steps to replay buffers, and updates from sampled batches.

    An environment that is given must have next-step autoreset. See :class:`PolicyTrainer` for the arguments.
    """

    autoreset: Autoreset = "next_step"
    config: ReplayConfig
    shared_settings: tuple[str, ...] = (
        "num_envs",
        "total_steps",
        "device",
        "learning_starts",
        "steps_per_update",
        "save_replay",
        "batch_size",
    )
    """Settings that all policies share."""

    def _check_config(self, config: ReplayConfig) -> None:
        if config.batch_size % self.ranks.size:
            raise InputError(
                f"batches of {config.batch_size} transitions cannot be shared evenly by {self.ranks.size} processes: "
                f"use a multiple of {self.ranks.size}"
            )

    def _pending_steps(self) -> int:
        return self.config.replay_capacity  # an observation that is not finite stops the training in any case

    def _setup(self) -> None:
        self._added_steps = 0
        """Steps of every world that were added to the replay buffer."""
        self._act = self._graphed(self._steps, exchanges=False)
        self._summarize = self._graphed(self._summaries, exchanges=True)

    def _config_of(self, policy_group: PolicyGroup) -> ReplayConfig:
        """The settings of a policy group: its own, except those that all policies share."""
        if policy_group.config is None:
            return self.config
        assert isinstance(policy_group.config, type(self.config))
        return replace(policy_group.config, **{k: getattr(self.config, k) for k in self.shared_settings})

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
            self._take_updates()
        self._summarize()
        return self.config.steps_per_update

    @abstractmethod
    def _take_updates(self) -> None:
        """The optimizer steps of an iteration, of all trained policies."""

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

    def _summaries(self) -> None:
        for name, learner in self.learners.items():
            is_bad = self.observation_check.is_bad(name)  # the replay holds 0 instead, so that no loss shows it
            learner.metrics[0].copy_(torch.where(is_bad, torch.nan, learner.metrics[0]))
            learner.summarize()

    def _is_saved(self, key: str) -> bool:
        return super()._is_saved(key) and (self.config.save_replay or f"/{REPLAY}" not in key)

    def load_tensors(self, tensors: Tensors) -> None:
        for name, learner in self.learners.items():
            learner.load(self._saved_of(name, tensors))
        replays = [learner.replay for learner in self.learners.values() if learner.replay is not None]
        self._added_steps = max((int(replay.cursor.item()) for replay in replays), default=0)
