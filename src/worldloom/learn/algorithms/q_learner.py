"""A Q network in training: its replay buffer, exploration and target network."""

from __future__ import annotations

import copy
from contextlib import ExitStack

import torch
from torch import nn

from worldloom.core.base.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn.actions.epsilon_greedy import EpsilonGreedy
from worldloom.learn.actions.noise import NoiseSource
from worldloom.learn.agents.policy_groups import PolicyGroup
from worldloom.learn.agents.specs import ObservationSpec
from worldloom.learn.algorithms.replay_learner import ReplayLearner
from worldloom.learn.config.dqn_config import DQNConfig
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.losses.critic_outputs import ReturnDistribution
from worldloom.learn.losses.td_loss import QFunction
from worldloom.learn.native.dense_network import describe_q_network
from worldloom.learn.native.q_step import QInference, QStep
from worldloom.learn.networks.memory_check import TRAINING_COPIES
from worldloom.learn.networks.q_network import QNetwork
from worldloom.learn.networks.values.noisy_linear import noise_from
from worldloom.learn.training.restore_checks import COUNTER_RANGE, Ranges

NOISE_STREAM = 1 << 9
"""Added to a policy's number for the random stream of its noisy layers."""


class QLearner(ReplayLearner):
    """One Q network in training. See :class:`ReplayLearner` for the arguments."""

    policy: QNetwork
    config: DQNConfig
    explorer: EpsilonGreedy
    own_network = "dqn"

    def __init__(
        self,
        name: str,
        policy_group: PolicyGroup,
        config: DQNConfig,
        simulation: Simulation,
        number: int,
        policies: int,
        ranks: Ranks,
        metrics: int,
    ) -> None:
        super().__init__(name, policy_group, config, simulation, number, policies, ranks, metrics)
        self.target = copy.deepcopy(self.policy).requires_grad_(False).eval()
        """The target network."""
        self.target.normalizer = self.policy.normalizer
        if config.compile:
            self.target.network.compile()
        head = config.head
        self.returns = ReturnDistribution(head.atoms, head.v_min, head.v_max, self.device) if head.atoms else None
        """Distributions of returns; None for expected ones."""
        self.noise = NoiseSource(self.device, self.process_seed, stream=number + NOISE_STREAM) if head.noisy else None
        """Noise of the weights; None without noisy layers."""
        self._set_native()
        self.explorer = EpsilonGreedy(self.agent_group.rows, self.device, config.seed, self.first_row, number)

    def _set_native(self) -> None:
        """Use native kernels where the network has them."""
        self.native_step: QStep | None = None
        """Takes optimizer steps with native kernels; None where PyTorch does."""
        self.q_values: QFunction = self.policy
        """The trained network's values, by native kernels where possible."""
        self.target_values: QFunction = self.target
        """The target network's values, by native kernels where possible."""
        network = self.native_network()
        if network is not None:
            config, choices = self.config, self.agent_group.spec.action.parameters
            samples = config.batch_size // self.ranks.size
            self.native_step = QStep(network, self.optimizer, samples, choices, config.huber)
            self.q_values = QInference(network)
            self.target_values = QInference(describe_q_network(self.target))

    def _validate(self, custom_network: bool) -> None:
        """InputError for other actions than one discrete one, or where network, replay or a batch cannot fit."""
        spec = self.agent_group.spec
        if self.pool is not None:
            raise InputError(
                f"policy '{self.name}' is trained by dqn, which has no pools of past selves: train with ppo, a2c or "
                "vtrace, or omit its pool (--self-play)"
            )
        if spec.action.kind != "categorical" or spec.action.width != 1:
            kind, others = {
                "gaussian": ("real numbers", "sac, td3 or ppo"),
                "mixed": ("choices and real numbers", "ppo"),
                "categorical": (f"{spec.action.width} choices at once", "ppo"),
            }[spec.action.kind]
            raise InputError(
                f"the agents of world '{self.simulation.definition.id}' act with {kind}, "
                f"and DQN takes one choice among several: train with {others}"
            )
        self._require_memory(0 if custom_network else TRAINING_COPIES + 1, self.config.policy)

    def _build_network(self, network: nn.Module | None) -> QNetwork:
        return QNetwork(self.agent_group.spec, self.config.policy, network, self.config.head)

    def _network_inputs(self) -> dict[str, ObservationSpec]:
        return self.policy.observations

    # -- acting ------------------------------------------------------------------------------------------------------

    def schedule(self, steps: int, total_steps: int) -> None:
        """As in the base class; also epsilon."""
        super().schedule(steps, total_steps)
        fraction = steps / total_steps
        epsilon = self.config.epsilon_start if "epsilon_start" in self.schedules else self.config.epsilon(fraction)
        epsilon = epsilon if self.train else self.config.epsilon_end
        self.explorer.epsilon.fill_(0.0 if self.config.noisy else epsilon)

    def noisy(self) -> ExitStack:
        """A context in which the noisy layers of both networks draw noise."""
        stack = ExitStack()
        if self.noise is not None:
            stack.enter_context(noise_from(self.policy, self.noise))
            stack.enter_context(noise_from(self.target, self.noise))
        return stack

    def _choose(self, mask: torch.Tensor | None, step: int) -> None:
        with self.autocast(), self.noisy():
            q_values = self.q_values(self.observed())
        view = self.agent_group.action_view()
        assert not isinstance(view, tuple)
        self.explorer.choose(q_values.contiguous(), self._actions, mask, view, step)
        if view is None:
            self.agent_group.write_actions(self._actions)

    def update_target(self) -> None:
        """Move the target network towards the trained one by ``tau`` (Polyak averaging)."""
        with torch.no_grad():
            for average, trained in zip(self.target.parameters(), self.policy.parameters(), strict=True):
                average.lerp_(trained, self.config.tau)
            for copied, buffer in zip(self.target.buffers(), self.policy.buffers(), strict=True):
                copied.copy_(buffer)

    def tensors(self) -> dict[str, torch.Tensor]:
        state = super().tensors() | {f"target/{k}": v for k, v in self.target.state_dict().items()}
        return state if self.noise is None else state | {"noise": self.noise.tick}

    def ranges(self) -> Ranges:
        return {**super().ranges(), "noise": COUNTER_RANGE}
