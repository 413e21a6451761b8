"""What PPO, A2C and V-trace share: roll out, then learn from it, for every policy of the world."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import nn

from worldloom.learn.algorithms.learner import Learner, PolicyGroup, check_policy_groups, resolve_policy_groups
from worldloom.learn.config.train_config import RolloutConfig
from worldloom.learn.device.cuda_graphs import CudaGraphed
from worldloom.learn.distributed.ranks import Ranks
from worldloom.learn.distributed.weighted_mean import WeightedMean
from worldloom.learn.rollout.rollout_actor import max_truncations, roll_out
from worldloom.learn.training.trainer import Tensors, Trainer


class OnPolicyTrainer(Trainer):
    """Trains on what the present policies do.

    Args:
        env: A world's id, or an environment of worldloom.make.
        config: The settings; None for those of the algorithm.
        network: A module to use as the policy, where one policy plays all: observations in, (logits or means, value) out.
        teams: Which agents share which policy, by the policy's name; None for a policy per kind of agent.
        ranks: This process among those that train together.
    """

    config: RolloutConfig

    def __init__(
        self,
        env: Any,
        config: RolloutConfig | None = None,
        *,
        network: nn.Module | None = None,
        policy_groups: Mapping[str, PolicyGroup] | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        config = self.resolve_config(config)
        super().__init__(env, config, ranks)
        given = resolve_policy_groups(self.simulation, config, network, policy_groups)
        self.learners = {
            name: Learner(name, policy_group, config, self.simulation, number, self.ranks, len(self.metric_names))
            for number, (name, policy_group) in enumerate(given.items())
        }
        """Every policy in training, by name."""
        check_policy_groups(self.simulation, self.learners)
        for learner in self.learners.values():
            self.check(learner)
        captured = config.graphs and not self.simulation.has_host_calls
        self._captured = captured and self.device.type == "cuda"
        self._roll = CudaGraphed(self._roll_out, self.device, captured, self._version)
        self._learn = CudaGraphed(self._update, self.device, captured and self.ranks.capturable, self._version)
        self._both = CudaGraphed(
            self._roll_out_and_update, self.device, captured and self.ranks.capturable, self._version
        )
        self._has_rollout = False
        """Whether there is a roll-out to learn from while the next one is taken."""
        self._update_stream = torch.cuda.Stream(self.device) if self.device.type == "cuda" and config.overlap else None
        self._config_version = self.simulation.config_version

    def max_op_elements(self) -> int:
        return max(self.minibatch_samples(learner) * int(learner.policy.width) for learner in self.learners.values())

    def minibatch_samples(self, learner: Learner) -> int:
        """How many samples a step of the optimiser learns from."""
        return learner.agent_group.rows * self.config.num_steps

    @property
    def new_steps(self) -> int:
        """Steps that every world takes between two updates; the last of those that are kept."""
        return self.config.num_steps

    def check(self, learner: Learner) -> None:
        """Raise InputError where the settings do not fit the agents."""

    def training_batch(self, learner: Learner) -> Any:
        """What an update learns from; the next roll-out leaves it alone where both run at once."""
        return learner.kept()

    @abstractmethod
    def update(self, learner: Learner, gathered: Any) -> None:
        """Learn from what was ``gathered`` of a roll-out, and leave ``metric_names`` in ``learner.metrics``."""

    def _version(self) -> tuple[int, ...]:
        """What a recorded iteration depends on: the worlds' configuration, and who learns."""
        return self.simulation.config_version, *(int(learner.train) for learner in self.learners.values())

    def _resize_for_config(self) -> None:
        """Where the worlds' configuration was changed, episodes may be cut off more often than there was room for."""
        if self._config_version != self.simulation.config_version:
            self._config_version = self.simulation.config_version
            truncations = max_truncations(self.simulation, self.config.num_steps)
            for learner in self.learners.values():
                if learner.actor.storage.truncations is None and truncations > learner.actor.storage.finals:
                    learner.actor.storage.allocate_finals(truncations)

    def iterate(self) -> int:
        self._resize_for_config()
        for learner in self.learners.values():
            learner.schedule(self.steps / self.config.total_steps)
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

    def _roll_out(self) -> None:
        roll_out(
            self.simulation,
            [learner.actor for learner in self.learners.values()],
            range(self.config.num_steps),
            self._captured,
        )

    def _update(self) -> None:
        for learner in self.learners.values():
            if learner.train:
                learner.finalize_rewards(self.new_steps)
                self.update(learner, self.training_batch(learner))
                learner.update_statistics(self.new_steps)
            learner.summarize()

    def _roll_out_and_update(self) -> None:
        """Learn from the last roll-out while the next one is taken."""
        learning = [learner for learner in self.learners.values() if learner.train]
        for learner in learning:
            learner.finalize_rewards(self.new_steps)
            learner.sync_actor_policy()
        gathered = [
            self.training_batch(learner) for learner in learning
        ]  # kept until both are done, so that its memory is not used for anything else
        with self._on_update_stream():
            for learner, batch in zip(learning, gathered, strict=True):
                self.update(learner, batch)
        self._roll_out()
        self._wait()
        for learner in self.learners.values():
            if learner.train:
                learner.update_statistics(self.new_steps)
            learner.summarize()

    @contextmanager
    def _on_update_stream(self) -> Iterator[None]:
        """On a GPU, run what follows beside what comes after it, until :meth:`_wait`."""
        if self._update_stream is None:
            yield
            return
        self._update_stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self._update_stream):
            yield

    def _wait(self) -> None:
        if self._update_stream is not None:
            torch.cuda.current_stream(self.device).wait_stream(self._update_stream)

    def is_trained(self, policy: str) -> bool:
        return self.learners[policy].train

    def summaries(self) -> Mapping[str, torch.Tensor]:
        return {name: learner.summary for name, learner in self.learners.items()}

    def tensors(self) -> Tensors:
        found = {
            f"{name}/{key}": tensor
            for name, learner in self.learners.items()
            for key, tensor in learner.tensors().items()
        }
        return {k: v for k, v in found.items() if self.ranks.is_single or "/rows/" not in k}

    def load_tensors(self, tensors: Tensors) -> None:
        self._has_rollout = False
        for name, learner in self.learners.items():
            learner.load(
                {
                    k.removeprefix(f"{name}/"): v
                    for k, v in tensors.items()
                    if k.startswith(f"{name}/") and (self.ranks.is_single or "/rows/" not in k)
                }
            )


def explained_variance(values: torch.Tensor, returns: torch.Tensor, mean: WeightedMean) -> torch.Tensor:
    """How much of the returns' variance the values explain, at most 1; over all processes."""
    with torch.no_grad():
        return 1.0 - mean.variance(returns - values) / (mean.variance(returns) + 1e-8)
