"""An actor and two critics in training from a replay buffer, for continuous actions."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace

import torch
from torch import Tensor, nn

from worldloom.core.base.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn.actions.distributions import action_scale
from worldloom.learn.actions.noise import CorrelatedNoise, NoiseSource, to_uniform
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.algorithms.replay_learner import ReplayLearner
from worldloom.learn.config.continuous_config import ContinuousConfig
from worldloom.learn.device.torch_settings import seeded_torch
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.losses.critic_outputs import CriticOutputs, ExpectedReturns, ReturnDistribution, combine
from worldloom.learn.networks.memory_check import TRAINING_COPIES, require_network
from worldloom.learn.networks.network_inputs import network_inputs
from worldloom.learn.networks.policy import Policy
from worldloom.learn.networks.values.critics import MEMBERS, Critics
from worldloom.learn.rollout.replay_buffer import TransitionBatch
from worldloom.learn.training.optimizer import FlatAdam
from worldloom.learn.training.restore_checks import COUNTER_RANGE, OPTIMIZER_RANGES, Ranges

CRITIC_SEED_OFFSET = 1 << 15
"""Added to the seed of a policy's network for that of its critics."""
EXPLORATION_STREAM, UPDATE_STREAM = 1 << 8, 1 << 9
"""Added to a policy's number for the random streams of its exploration and of its updates."""


class ContinuousLearner(ReplayLearner):
    """One actor with its critics in training. See :class:`ReplayLearner` for the arguments.

    Actions are numbers from -1 to 1, which are the bounds of the world's action.
    """

    policy: Policy
    config: ContinuousConfig
    explorer: CorrelatedNoise

    def __init__(
        self,
        name: str,
        policy_group: PolicyGroup,
        config: ContinuousConfig,
        simulation: Simulation,
        number: int,
        policies: int,
        ranks: Ranks,
        metrics: int,
    ) -> None:
        super().__init__(name, policy_group, config, simulation, number, policies, ranks, metrics)
        self.native_reason = f"it is trained by {self.own_network}"
        spec, device = self.agent_group.spec, self.device
        self.outputs: CriticOutputs = ExpectedReturns()
        """What the critics' outputs mean."""
        if config.atoms:
            self.outputs = ReturnDistribution(config.atoms, config.v_min, config.v_max, device)
        with seeded_torch(config.seed + number + CRITIC_SEED_OFFSET):
            hidden = config.critic_hidden or config.policy.hidden
            self.critics = Critics(spec, config.policy, hidden, self.outputs.width).to(device)
        self.target_critics = copy.deepcopy(self.critics).requires_grad_(False)
        if config.compile:
            self.critics.compile()
            self.target_critics.compile()
        self.critic_optimizer = FlatAdam(
            self.critics.parameters(), config.learning_rate, config.max_gradient_norm, ranks
        )
        rows, numbers = self.agent_group.rows, spec.action.numbers
        self.explorer = CorrelatedNoise(
            rows, numbers, config.noise_correlation, device, config.seed, self.first_row, number + EXPLORATION_STREAM
        )
        self.noise = NoiseSource(device, self.process_seed, stream=number + UPDATE_STREAM)
        """Noise of the actions in updates."""
        self._is_random = torch.zeros(1, dtype=torch.bool, device=device)
        """Whether actions are uniformly random: before the first update."""
        self._action_scale = action_scale(spec.action, device)

    def _validate(self, custom_network: bool) -> None:
        """InputError for other actions than real numbers, or where networks, replay or a batch cannot fit."""
        algorithm, spec = self.own_network, self.agent_group.spec
        if self.pool is not None:
            raise InputError(
                f"policy '{self.name}' is trained by {algorithm}, which has no pools of past selves: train with ppo, "
                "a2c or vtrace, or omit its pool (--self-play)"
            )
        if spec.action.kind != "gaussian":
            kind = "choices" if spec.action.kind == "categorical" else "choices and real numbers"
            others = "dqn or ppo" if spec.action.kind == "categorical" and spec.action.width == 1 else "ppo"
            raise InputError(
                f"the agents of world '{self.simulation.definition.id}' act with {kind}, "
                f"and {algorithm.upper()} takes real numbers only: train with {others}"
            )
        if custom_network:
            raise InputError(
                f"{algorithm.upper()} builds its actor and its critics from the settings of policy: omit network, "
                "or train with ppo"
            )
        policy = self.config.policy
        critics = replace(policy, hidden=self.config.critic_hidden or policy.hidden)
        self._require_memory(TRAINING_COPIES, critics)
        require_network(self.name, spec, critics, self.device, MEMBERS * TRAINING_COPIES, critic=False)

    def _build_network(self, network: nn.Module | None) -> Policy:
        return Policy(self.agent_group.spec, self.config.policy, critic=False)

    def _network_inputs(self) -> dict[str, ObservationSpec]:
        return network_inputs(self.agent_group.spec.observations, self.config.policy).critic

    # -- acting ------------------------------------------------------------------------------------------------------

    def schedule(self, steps: int, total_steps: int) -> None:
        """As in the base class; also the critics' optimizer, and whether actions are random."""
        super().schedule(steps, total_steps)
        self.critic_optimizer.learning_rate.copy_(self.optimizer.learning_rate)
        self.critic_optimizer.max_gradient_norm = self.optimizer.max_gradient_norm
        self._is_random.fill_(self.train and self.saved is None and steps < self.config.learning_starts)

    def _choose(self, mask: Tensor | None, step: int) -> None:
        noise = self.explorer.step(self.valid, step)
        with self.autocast():
            parameters = self.parameters(self.policy, self.observed())
        explored = self.explore(parameters, noise)
        torch.where(self._is_random, to_uniform(noise), explored, out=self._actions)
        center, half_range, low, high = self._action_scale.unbind(-1)
        self.agent_group.write_actions(torch.clamp(center + half_range * self._actions, low, high))

    def parameters(self, policy: Policy, observations: Mapping[str, Tensor]) -> Tensor:
        """The actor's outputs, [B, P]."""
        rows = len(next(iter(observations.values())))
        return policy.act(observations, policy.initial_state(rows, self.device))[0]

    @abstractmethod
    def explore(self, parameters: Tensor, noise: Tensor) -> Tensor:
        """Actions in training, [N, numbers], from the actor's outputs and noise of variance 1."""

    # -- updates -----------------------------------------------------------------------------------------------------

    @abstractmethod
    def next_actions(self, observations: Mapping[str, Tensor]) -> tuple[Tensor, Tensor | float]:
        """Actions of TD targets, [B, numbers], and what is subtracted from their values, [B]."""

    @abstractmethod
    def update_actor(self, batch: TransitionBatch, mean: WeightedMean) -> Tensor:
        """One optimizer step of the actor; returns its metrics."""

    def critic_values(self, critics: Critics, observations: Mapping[str, Tensor], actions: Tensor) -> Tensor:
        """Outputs of both critics, [2, B, width]."""
        normalizer = self.policy.normalizer
        outputs: Tensor = critics(observations if normalizer is None else normalizer(observations), actions)
        return outputs

    def value(self, observations: Mapping[str, Tensor], actions: Tensor) -> Tensor:
        """The value of actions that the actor is trained with, [B]."""
        outputs = self.critic_values(self.critics, observations, actions)
        return combine(self.outputs.values(outputs), self.config.clipped_double)

    @torch.no_grad()
    def targets(self, batch: TransitionBatch) -> Tensor:
        """TD targets of the critics, without gradients. ``batch.discounts`` is 0 after terminations only."""
        with self.autocast():
            actions, subtracted = self.next_actions(batch.next_observations)
            outputs = self.critic_values(self.target_critics, batch.next_observations, actions)
        rewards = batch.rewards - batch.discounts * subtracted
        return self.outputs.targets(outputs, rewards, batch.discounts, self.config.clipped_double)

    def update_critics(self, batch: TransitionBatch, mean: WeightedMean) -> Tensor:
        """One optimizer step of the critics; returns the loss, the mean value and the gradient norm, [3]."""
        targets = self.targets(batch)
        with self.autocast():
            outputs = self.critic_values(self.critics, batch.observations, batch.actions)
        losses, errors = self.outputs.losses(outputs, targets)
        loss = mean(batch.weights * losses)
        self.critic_optimizer.step(loss)
        assert self.replay is not None
        if self.replay.priorities is not None:
            self.replay.priorities.update(batch.indices, errors)
        value = mean(self.outputs.values(outputs).mean(0))
        return torch.stack([loss, value, self.critic_optimizer.gradient_norm]).detach()

    def target_pairs(self) -> list[tuple[nn.Module, nn.Module]]:
        """Every target network with the network that it follows."""
        return [(self.target_critics, self.critics)]

    @torch.no_grad()
    def update_targets(self) -> None:
        """Move the target networks towards the trained ones by ``tau`` (Polyak averaging)."""
        tau = self.setting("tau")
        for target, trained in self.target_pairs():
            for average, parameter in zip(target.parameters(), trained.parameters(), strict=True):
                average.lerp_(parameter, tau)

    # -- saved state -------------------------------------------------------------------------------------------------

    def tensors(self) -> dict[str, Tensor]:
        state = super().tensors() | {"noise": self.noise.tick, "rows/noise": self.explorer.noise}
        state |= {f"critics/{k}": v for k, v in self.critics.state_dict().items()}
        state |= {f"target/critics/{k}": v for k, v in self.target_critics.state_dict().items()}
        state |= {f"critic_optimizer/{k}": v for k, v in self.critic_optimizer.tensors().items()}
        return state

    @property
    def action_range(self) -> tuple[float, float]:
        return -1.0, 1.0

    def ranges(self) -> Ranges:
        critics = {f"critic_{name}": bounds for name, bounds in OPTIMIZER_RANGES.items()}
        return {**super().ranges(), **critics, "noise": COUNTER_RANGE}
