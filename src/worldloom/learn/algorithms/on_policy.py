"""The loop of PPO, A2C and V-trace: take a rollout, then update every policy from it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar

import torch

from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.learner import Learner
from worldloom.learn.algorithms.policy_trainer import PolicyTrainer
from worldloom.learn.algorithms.saved_steps import load_steps
from worldloom.learn.config.train_config import RolloutConfig
from worldloom.learn.device.side_streams import SideStreams
from worldloom.learn.opponents.self_play import ELO_METRICS, SelfPlay
from worldloom.learn.rollout.rollout_actor import max_truncations, roll_out
from worldloom.learn.training.trainer import Tensors

SELF_PLAY = "self_play"
"""Prefix of the names of the pools' tensors in a checkpoint."""
ROLLOUT = "rows/rollout/"
"""Prefix of the names of a rollout's tensors among those of its policy."""


class OnPolicyTrainer(PolicyTrainer[Learner]):
    """Trains policies on rollouts of the current policies."""

    config: RolloutConfig
    takes_extensions = True
    independent_updates: ClassVar[bool] = False
    """Whether the update of a policy uses nothing that that of another one changes; on a GPU they then run at once."""

    def _make_learner(
        self, name: str, policy_group: PolicyGroup, config: RolloutConfig, number: int, policies: int
    ) -> Learner:
        metrics = len(type(self).metric_names)
        return Learner(name, policy_group, config, self.simulation, number, self.ranks, metrics, self.extensions)

    def _setup(self) -> None:
        for learner in self.learners.values():
            self.check(learner)
        self._add_metrics(self._extension_metrics())
        self.self_play = self._make_self_play()
        """The pools of past selves; None where there are none."""
        self._roll = self._graphed(self._checked_roll_out, exchanges=False)
        self._learn = self._graphed(self._update, exchanges=True)
        self._both = self._graphed(self._roll_out_and_update, exchanges=True)
        self._has_rollout = False
        """Whether there is a rollout to learn from during the next one."""
        several = len(self.learners) > 1 and self._updates_side_by_side
        self._side_streams = SideStreams(self.device, self.config.overlap or several)
        self._config_version = self.simulation.config_version

    @property
    def _updates_side_by_side(self) -> bool:
        """Whether updates of policies may run at once. Several processes exchange gradients in the same order."""
        return self.independent_updates and self.ranks.is_single and not self.extensions

    def _pending_steps(self) -> int:
        return self.config.num_steps - (0 if self.config.overlap else self.new_steps)

    def _extension_metrics(self) -> tuple[str, ...]:
        """The metrics of all extensions, which are the same for every trained policy."""
        learner = next((learner for learner in self.learners.values() if learner.train), None)
        extensions = () if learner is None else learner.extensions.values()
        return tuple(name for extension in extensions for name in extension.metric_names)

    def _add_metrics(self, names: tuple[str, ...]) -> None:
        """Add metrics to those that an update reports."""
        if names:
            self.metric_names = (*self.metric_names, *names)
            for learner in self.learners.values():
                learner.summary = torch.zeros(4 + len(self.metric_names), dtype=torch.float64, device=self.device)

    def _make_self_play(self) -> SelfPlay | None:
        if all(learner.pool is None for learner in self.learners.values()):
            return None
        self._add_metrics(ELO_METRICS)
        return SelfPlay(self.simulation, self.learners, self.config.seed, self.ranks)

    @property
    def notice(self) -> str:
        own = "" if self.self_play is None else self.self_play.notice(self.new_steps)
        return "\n".join(filter(None, (super().notice, own)))

    def max_op_elements(self) -> int:
        return max(self.minibatch_samples(learner) * int(learner.policy.width) for learner in self.learners.values())

    def minibatch_samples(self, learner: Learner) -> int:
        """Samples of one optimizer step."""
        return learner.agent_group.rows * self.config.num_steps

    @property
    def new_steps(self) -> int:
        """Steps that every world takes between two updates: the last ones of the storage."""
        return self.config.num_steps

    def check(self, learner: Learner) -> None:
        """Raise InputError where the settings do not fit the agents."""

    def training_batch(self, learner: Learner) -> Any:
        """What an update learns from. The next rollout does not overwrite it where both run at once."""
        return learner.training_storage()

    @abstractmethod
    def update(self, learner: Learner, gathered: Any) -> None:
        """Update a policy from the :meth:`training_batch`, and write ``metric_names`` to ``learner.metrics``."""

    def _resize_for_config(self) -> None:
        """Allocate more final observations where a new configuration of the worlds truncates episodes more often."""
        if self._config_version != self.simulation.config_version:
            self._config_version = self.simulation.config_version
            truncations = max_truncations(self.simulation, self.config.num_steps)
            for learner in self.learners.values():
                if learner.actor.storage.truncations is None and truncations > learner.actor.storage.finals:
                    learner.actor.storage.allocate_finals(truncations)

    def iterate(self) -> int:
        self._resize_for_config()
        for learner in self.learners.values():
            learner.schedule(self.steps, self.config.total_steps)
        self.observation_check.steps.fill_(self.steps // self.config.num_envs)
        if self.self_play is not None:
            self.self_play.before_rollout(self.iteration)
        self._reports.mark()
        if self.config.overlap and self._has_rollout:
            self._both()
        else:
            self._roll()
            self._has_rollout = True
            self._reports.mark()
            if not self.config.overlap:
                self._learn()
        return self.new_steps

    def _checked_roll_out(self) -> None:
        self.observation_check.begin()
        self._roll_out()

    def _roll_out(self) -> None:
        self._take_steps(range(self.config.num_steps))

    def _take_steps(self, steps: range, valued: bool = True) -> None:
        """Act with all policies, see :func:`~worldloom.learn.rollout.rollout_actor.roll_out`."""
        actors = [learner.actor for learner in self.learners.values()]
        on_step = None if self.self_play is None else self.self_play.record_step
        roll_out(self.simulation, actors, steps, self._captured, valued, on_step)
        for name, learner in self.learners.items():
            learner.denormalize_rollout(len(steps), valued)
            if not self._checks_after_update:
                self._check_observations(name, len(steps))

    @property
    def _checks_after_update(self) -> bool:
        """Whether observations are searched after the update that used them, and only if it did harm.

        That saves a pass over the observations on a GPU. It needs a rollout that one update uses, right after it.
        """
        return self.device.type == "cuda" and not self.config.overlap and self.new_steps == self.config.num_steps

    def _check_observations(self, name: str, steps: int, harmful: bool = False) -> None:
        """Record the first observation of the last ``steps`` steps of a policy that is not finite."""
        checked = self.learners[name].actor.storage.newest(steps, self.observation_check.names(name))
        self.observation_check.scan(name, checked, harmful=harmful)

    def _summarize(self) -> None:
        """Write the summaries of all policies, and update their ratings."""
        for learner in self.learners.values():
            learner.summarize()
        if self.self_play is not None:
            self.self_play.rate()

    def _finalize_rewards(self, learner: Learner) -> None:
        """Complete the rewards of the last rollout: extensions, then normalization and bootstrap values."""
        learner.apply_extensions(self.new_steps)
        learner.finalize_rewards(self.new_steps)

    def _update(self) -> None:
        learning = [learner for learner in self.learners.values() if learner.train]
        self._side_streams.start([partial(self._update_policy, learner) for learner in learning])
        self._side_streams.wait()
        if self._checks_after_update:
            self.observation_check.find_harm()
            for name in self.learners:
                self._check_observations(name, self.new_steps, harmful=True)
        self._summarize()

    def _update_policy(self, learner: Learner) -> None:
        self._finalize_rewards(learner)
        self.update(learner, self.training_batch(learner))
        learner.update_statistics(self.new_steps)

    def _roll_out_and_update(self) -> None:
        """Update from the last rollout while the next one is taken."""
        self.observation_check.begin()
        learning = [learner for learner in self.learners.values() if learner.train]
        for learner in learning:
            self._finalize_rewards(learner)
            learner.sync_actor_policy()
        # Referenced until both are done, so that the memory is not reused.
        gathered = [self.training_batch(learner) for learner in learning]
        updates = [partial(self.update, *pair) for pair in zip(learning, gathered, strict=True)]
        self._side_streams.start(updates if self._updates_side_by_side else [partial(_in_turn, updates)])
        self._roll_out()
        self._side_streams.wait()
        for learner in learning:
            learner.update_statistics(self.new_steps)
        self._summarize()

    # -- saved state -------------------------------------------------------------------------------------------------

    @property
    def _saves_rollout(self) -> bool:
        """Whether the rollout that the next update uses is part of a checkpoint."""
        return self.ranks.is_single and self.config.overlap and self.config.save_rollout and self._has_rollout

    def _rollout_tensors(self, learner: Learner) -> Tensors:
        """The last rollout of a policy, by name."""
        storage = learner.actor.storage
        return {**storage.tensors(), **storage.bootstrap_tensors()}

    def load_tensors(self, tensors: Tensors) -> None:
        rollouts = {}
        for name, learner in self.learners.items():
            saved = self._saved_of(name, tensors)
            steps = {key: value for key, value in saved.items() if key.startswith(ROLLOUT)}
            learner.load({key: value for key, value in saved.items() if key not in steps})
            rollouts[name] = {key.removeprefix(ROLLOUT): value for key, value in steps.items()}
        trained = [name for name, learner in self.learners.items() if learner.train]
        self._has_rollout = self.config.overlap and all(rollouts[name] for name in trained)
        for name in trained if self._has_rollout else ():
            self._load_rollout(self.learners[name], rollouts[name])
        if self.self_play is not None:
            self.self_play.load(self._saved_of(SELF_PLAY, tensors))

    def _load_rollout(self, learner: Learner, saved: Tensors) -> None:
        storage = learner.actor.storage
        finals = len(saved.get("final_steps", ()))
        if storage.truncations is None and storage.finals < finals <= storage.steps:
            storage.allocate_finals(finals)  # the worlds had been configured to truncate episodes more often
        load_steps(f"rollout of policy '{learner.name}'", storage, self._rollout_tensors(learner), saved)

    def tensors(self) -> Tensors:
        state = super().tensors()
        if self._saves_rollout:
            for name, learner in self.learners.items():
                rollout = self._rollout_tensors(learner) if learner.train else {}
                state |= {f"{name}/{ROLLOUT}{key}": value for key, value in rollout.items()}
        if self.self_play is not None:
            own = {f"{SELF_PLAY}/{key}": value for key, value in self.self_play.tensors().items()}
            state |= {key: value for key, value in own.items() if self._is_saved(key)}
        return state


def _in_turn(work: Sequence[Callable[[], None]]) -> None:
    for call in work:
        call()
