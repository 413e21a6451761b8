"""The common part of SAC and TD3: updates of critics and, less often, of the actor."""

from __future__ import annotations

from functools import partial
from typing import Generic, TypeVar

import torch

from worldloom.learn.algorithms.continuous_learner import ContinuousLearner
from worldloom.learn.algorithms.off_policy import OffPolicyTrainer
from worldloom.learn.config.continuous_config import ContinuousConfig
from worldloom.learn.device.cuda_graphs import CudaGraphed
from worldloom.learn.distributed.weighted_mean import WeightedMean

ContinuousLearnerT = TypeVar("ContinuousLearnerT", bound=ContinuousLearner)
CRITIC_METRICS = ("loss/value", "value/mean", "update/gradient_norm")
"""The first metrics of an update. Those of the actor follow."""


class ContinuousTrainer(OffPolicyTrainer[ContinuousLearnerT], Generic[ContinuousLearnerT]):
    """Trains actors with two critics each. See :class:`PolicyTrainer` for the arguments."""

    config: ContinuousConfig

    def _setup(self) -> None:
        super()._setup()
        self._learn: dict[tuple[int, ...], CudaGraphed] = {}
        """The updates of an iteration, by the steps of each policy's critics since the last step of its actor."""

    def _take_updates(self) -> None:
        configs = [learner.config for learner in self.learners.values()]
        pending = tuple(self.iteration * config.updates % config.policy_delay for config in configs)
        if pending not in self._learn:
            self._learn[pending] = self._graphed(partial(self._update, pending), exchanges=True)
        self._learn[pending]()

    def _update(self, pending: tuple[int, ...]) -> None:
        for learner, steps in zip(self.learners.values(), pending, strict=True):
            if learner.train:
                self.update(learner, steps)

    def update(self, learner: ContinuousLearnerT, pending: int = 0) -> None:
        """Take ``updates`` steps of the critics, and write ``metric_names`` to ``learner.metrics``.

        Args:
            learner: The policy.
            pending: Steps of the critics since the last step of the actor.
        """
        config, replay, count = learner.config, learner.replay, len(CRITIC_METRICS)
        assert replay is not None
        if replay.priorities is not None:
            replay.priorities.anneal(learner.progress)
        of_critics, of_actor = [], []
        for index in range(pending + 1, pending + 1 + config.updates):
            batch = replay.sample(config.batch_size // learner.ranks.size)
            mean = WeightedMean((batch.weights > 0.0).float(), learner.ranks)
            of_critics.append(learner.update_critics(batch, mean))
            if index % config.policy_delay == 0:
                of_actor.append(learner.update_actor(batch, mean))
                learner.update_targets()
        learner.metrics[:count].copy_(torch.stack(of_critics).mean(0))
        if of_actor:
            learner.metrics[count:].copy_(torch.stack(of_actor).mean(0))
