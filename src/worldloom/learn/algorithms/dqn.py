"""DQN: Q-learning from a replay buffer, with double Q, n-step returns, dueling networks and prioritized replay.

Returns may be distributions (C51), and noisy layers may replace epsilon-greedy exploration.

The schedule of epsilon is :meth:`DQNConfig.epsilon`; :mod:`worldloom.learn.actions.epsilon_greedy` samples with it.
"""

from __future__ import annotations

import torch

from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.algorithms.off_policy import OffPolicyTrainer
from worldloom.learn.algorithms.q_learner import QLearner
from worldloom.learn.config.dqn_config import DQNConfig
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.losses.critic_outputs import ReturnDistribution
from worldloom.learn.losses.td_loss import distribution_targets, huber, taken, td_errors, td_targets, without_mask
from worldloom.learn.networks.evaluation_mode import evaluation_mode
from worldloom.learn.rollout.replay_buffer import TransitionBatch

__all__ = ["DQN", "DQNConfig"]


class DQN(OffPolicyTrainer[QLearner]):
    """Trains Q networks with DQN: ``DQN("CartPole-v1", DQNConfig()).learn()``.

    An environment that is given must have next-step autoreset. See :class:`PolicyTrainer` for the arguments.
    """

    config: DQNConfig
    config_class = DQNConfig
    metric_names = ("loss/value", "value/mean", "update/gradient_norm", "update/epsilon")
    shared_settings = (*OffPolicyTrainer.shared_settings, "target_update")

    def _make_learner(
        self, name: str, policy_group: PolicyGroup, config: DQNConfig, number: int, policies: int
    ) -> QLearner:
        own = self._config_of(policy_group)
        assert isinstance(own, DQNConfig)
        return QLearner(name, policy_group, own, self.simulation, number, policies, self.ranks, len(self.metric_names))

    def _setup(self) -> None:
        super()._setup()
        self._learn = self._graphed(self._update, exchanges=True)

    def _take_updates(self) -> None:
        self._learn()
        if (self.iteration + 1) % self.config.target_update == 0:
            for learner in self.learners.values():
                learner.update_target()

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
            if learner.returns is not None:
                self._distributional_step(learner, learner.returns, batch)
                continue
            with learner.autocast(), evaluation_mode(learner.policy), learner.noisy():
                targets = td_targets(learner.q_values, learner.target_values, batch, config.double)
            if learner.native_step is not None:
                statistics, errors = learner.native_step(batch, targets)
                if replay.priorities is not None:
                    replay.priorities.update(batch.indices, errors)
                learner.metrics[:2] += statistics
                learner.metrics[2] += learner.optimizer.gradient_norm
                continue
            with learner.autocast(), learner.noisy():
                errors, values = td_errors(learner.policy, batch, targets)
            mean = WeightedMean((batch.weights > 0.0).float(), learner.ranks)
            loss = mean(batch.weights * huber(errors, config.huber))
            learner.optimizer.step(loss)
            if replay.priorities is not None:
                replay.priorities.update(batch.indices, errors)
            learner.metrics[:3] += torch.stack([loss, mean(values), learner.optimizer.gradient_norm]).detach()
        learner.metrics[:3] /= config.updates

    def _distributional_step(self, learner: QLearner, returns: ReturnDistribution, batch: TransitionBatch) -> None:
        """One optimizer step on the cross-entropy of distributions of returns; adds to the metrics."""
        assert learner.replay is not None
        with learner.autocast(), evaluation_mode(learner.policy), learner.noisy():
            double = learner.config.double
            targets = distribution_targets(learner.policy, learner.target.outputs, returns, batch, double)
        with learner.autocast(), learner.noisy():
            outputs = taken(learner.policy.outputs(without_mask(batch.observations)), batch.actions)
        losses = returns.cross_entropy(outputs, targets)
        mean = WeightedMean((batch.weights > 0.0).float(), learner.ranks)
        loss = mean(batch.weights * losses)
        learner.optimizer.step(loss)
        if learner.replay.priorities is not None:
            learner.replay.priorities.update(batch.indices, losses.detach())
        value = mean(returns.values(outputs))
        learner.metrics[:3] += torch.stack([loss, value, learner.optimizer.gradient_norm]).detach()

    def _summaries(self) -> None:
        for learner in self.learners.values():
            learner.metrics[3:].copy_(learner.explorer.epsilon)
        super()._summaries()
