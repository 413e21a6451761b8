"""The common part of the trainers: one learner per policy, their saved state, and CUDA graphs of their work."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import torch
from torch import nn

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.policy_groups import PolicyGroup, check_policy_groups, resolve_policy_groups
from worldloom.learn.algorithms.extension import ExtensionFactory
from worldloom.learn.algorithms.policy_learner import PolicyLearner
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.device.cuda_graphs import CudaGraphed
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.networks.fused.support import fused_parts
from worldloom.learn.training.episode_starts import UnfinishedEpisodes
from worldloom.learn.training.observation_check import ObservationCheck
from worldloom.learn.training.periodic_evaluation import PeriodicEvaluation
from worldloom.learn.training.trainer import Tensors, Trainer

LearnerT = TypeVar("LearnerT", bound=PolicyLearner)


class PolicyTrainer(Trainer, Generic[LearnerT]):
    """Trains one policy per policy group.

    Args:
        env: A world's id, or an environment of worldloom.make.
        config: The settings; None for the algorithm's defaults.
        network: A module to use as the policy, where one policy controls all agents: observations in, (action
            parameters, value) out; with DQN, one value per choice.
        policy_groups: Which agents share which policy, by the policy's name; None for one policy per kind of agent.
        ranks: This process among those that train together.
        extensions: Parts to add to PPO, A2C or V-trace, by name: what makes the extension of a policy, such as a
            subclass of :class:`Extension`. None for those of the class.
        teams: Deprecated name of ``policy_groups``.
    """

    observation_check: ObservationCheck
    takes_extensions: ClassVar[bool] = False
    """Whether the algorithm takes extensions."""
    extensions: Mapping[str, ExtensionFactory] = {}
    """Parts that are added to the algorithm, by name; a subclass may set them."""

    def __init__(
        self,
        env: Any,
        config: TrainConfig | None = None,
        *,
        network: nn.Module | None = None,
        policy_groups: Mapping[str, PolicyGroup] | None = None,
        ranks: Ranks | None = None,
        extensions: Mapping[str, ExtensionFactory] | None = None,
        teams: Mapping[str, PolicyGroup] | None = None,
    ) -> None:
        if teams is not None:
            if policy_groups is not None:
                raise InputError("teams is the old name of policy_groups: give policy_groups only")
            warnings.warn(
                "teams= is now called policy_groups=; the old name works until the next release",
                DeprecationWarning,
                stacklevel=2,
            )
            policy_groups = teams
        if extensions is not None:
            self.extensions = dict(extensions)
        if self.extensions and not self.takes_extensions:
            raise InputError(f"{type(self).__name__} has no rollouts for extensions: use PPO, A2C or VTrace")
        config = self.resolve_config(config)
        super().__init__(env, config, ranks)
        self._check_config(config)
        groups = resolve_policy_groups(self.simulation, config, network, policy_groups)
        self.learners: dict[str, LearnerT] = {
            name: self._make_learner(name, group, config, number, len(groups))
            for number, (name, group) in enumerate(groups.items())
        }
        """Every policy, by name."""
        check_policy_groups(self.simulation, self.learners)
        self._graphs = config.graphs and not self.simulation.has_host_calls
        self.observation_check = ObservationCheck(self.learners, self._pending_steps(), self.device)
        self._captured = self._graphs and self.device.type == "cuda"
        """Whether the steps of the worlds are captured in a CUDA graph."""
        self._setup()

    def _check_config(self, config: Any) -> None:
        """InputError where the settings do not fit the number of processes."""

    @abstractmethod
    def _make_learner(self, name: str, policy_group: PolicyGroup, config: Any, number: int, policies: int) -> LearnerT:
        """The learner of policy ``number`` of ``policies``."""

    @abstractmethod
    def _pending_steps(self) -> int:
        """Steps before a rollout whose observations later updates use."""

    @abstractmethod
    def _setup(self) -> None:
        """Finish the constructor: everything that needs the learners."""

    def _graphed(self, work: Callable[[], None], exchanges: bool) -> CudaGraphed:
        """``work``, captured as a CUDA graph where possible; ``exchanges`` where processes communicate in it."""
        captured = self._graphs and (not exchanges or self.ranks.capturable)
        return CudaGraphed(work, self.device, captured, self._version)

    def _version(self) -> tuple[int, ...]:
        """What a captured iteration depends on: the worlds' configuration, and which policies are trained."""
        return self.simulation.config_version, *(int(learner.train) for learner in self.learners.values())

    def unfinished_episodes(self) -> UnfinishedEpisodes:
        running = torch.cat([learner.episodes.running for learner in self.learners.values()], dim=1)
        returns, lengths = running[:, running[1] > 0.0].double()
        if not len(returns):
            return UnfinishedEpisodes()
        return UnfinishedEpisodes(len(returns), float(returns.mean()), float(lengths.mean()))

    def kernels(self) -> dict[str, str]:
        return {name: _computed_by(learner) for name, learner in self.learners.items()}

    def _make_evaluation(self) -> PeriodicEvaluation:
        trained = {name for name, learner in self.learners.items() if learner.train}
        return PeriodicEvaluation(self.simulation, self.learners, trained, self.config)

    def summaries(self) -> Mapping[str, torch.Tensor]:
        return {name: learner.summary for name, learner in self.learners.items()}

    def is_trained(self, policy: str) -> bool:
        return self.learners[policy].train

    def tensors(self) -> Tensors:
        state = {f"{name}/{key}": v for name, learner in self.learners.items() for key, v in learner.tensors().items()}
        return {key: tensor for key, tensor in state.items() if self._is_saved(key)}

    def _is_saved(self, key: str) -> bool:
        """Whether a tensor is part of a checkpoint. Rows of the worlds are those of one process only."""
        return self.ranks.is_single or "/rows/" not in key

    def _saved_of(self, name: str, tensors: Tensors) -> Tensors:
        """The saved tensors of policy ``name``, without its name."""
        prefix = f"{name}/"
        restored = self.ranks.is_single
        return {
            key.removeprefix(prefix): tensor
            for key, tensor in tensors.items()
            if key.startswith(prefix) and (restored or "/rows/" not in key)
        }


def _computed_by(learner: PolicyLearner) -> str:
    """What computes a policy."""
    if not learner.native_reason:
        return "native"
    parts = fused_parts(learner.policy)
    return f"PyTorch, with fused kernels of {' and '.join(parts)}" if parts else f"PyTorch ({learner.native_reason})"
