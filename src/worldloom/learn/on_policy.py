"""What PPO, A2C and V-trace share: roll out, then learn from it, for every policy of the world."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from worldloom.learn.config import RolloutConfig
from worldloom.learn.graphs import Repeated
from worldloom.learn.learner import Learner, Team, check_teams, choose_teams
from worldloom.learn.means import Mean
from worldloom.learn.ranks import Ranks
from worldloom.learn.rollout import most_cuts, roll_out
from worldloom.learn.trainer import Tensors, Trainer


class OnPolicy(Trainer):
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
        teams: Mapping[str, Team] | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        config = self.settled(config)
        super().__init__(env, config, ranks)
        given = choose_teams(self.simulation, config, network, teams)
        self.learners = {
            name: Learner(name, team, config, self.simulation, number, self.ranks, len(self.metric_names)) for number, (name, team) in enumerate(given.items())
        }
        """Every policy in training, by name."""
        check_teams(self.simulation, self.learners)
        for learner in self.learners.values():
            self.check(learner)
        captured = config.graphs and not self.simulation.calls_out
        self._captured = captured and self.device.type == "cuda"
        self._roll = Repeated(self._roll_out, self.device, captured, self._version)
        self._learn = Repeated(self._update, self.device, captured and self.ranks.capturable, self._version)
        self._configured = self.simulation.configured

    def numbers_at_once(self) -> int:
        return max(self.samples_at_once(learner) * int(learner.policy.width) for learner in self.learners.values())

    def samples_at_once(self, learner: Learner) -> int:
        """How many samples a step of the optimiser learns from."""
        return learner.seats.rows * self.config.num_steps

    @property
    def new_steps(self) -> int:
        """Steps that every world takes between two updates; the last of those that are kept."""
        return self.config.num_steps

    def check(self, learner: Learner) -> None:
        """Raise InputError where the settings do not fit the agents."""

    @abstractmethod
    def update(self, learner: Learner) -> None:
        """Learn from the roll-out in ``learner.player.storage``, and leave ``metric_names`` in ``learner.metrics``."""

    def _version(self) -> tuple[int, ...]:
        """What a recorded iteration depends on: the worlds' configuration, and who learns."""
        return self.simulation.configured, *(int(learner.train) for learner in self.learners.values())

    def _follow_configuration(self) -> None:
        """Where the worlds' configuration was changed, episodes may be cut off more often than there was room for."""
        if self._configured != self.simulation.configured:
            self._configured = self.simulation.configured
            cuts = most_cuts(self.simulation, self.config.num_steps)
            for learner in self.learners.values():
                if learner.player.storage.cuts is None and cuts > learner.player.storage.finals:
                    learner.player.storage.make_room(cuts)

    def iterate(self) -> int:
        self._follow_configuration()
        for learner in self.learners.values():
            learner.schedule(self.steps / self.config.total_steps)
        self._reports.mark()
        self._roll()
        self._reports.mark()
        self._learn()
        return self.new_steps

    def _roll_out(self) -> None:
        roll_out(self.simulation, [learner.player for learner in self.learners.values()], range(self.config.num_steps), self._captured)

    def _update(self) -> None:
        for learner in self.learners.values():
            if learner.train:
                learner.finish_rewards(self.new_steps)
                self.update(learner)
                learner.update_statistics(self.new_steps)
            learner.summarize()

    def trains(self, policy: str) -> bool:
        return self.learners[policy].train

    def summaries(self) -> Mapping[str, torch.Tensor]:
        return {name: learner.summary for name, learner in self.learners.items()}

    def tensors(self) -> Tensors:
        found = {f"{name}/{key}": tensor for name, learner in self.learners.items() for key, tensor in learner.tensors().items()}
        return {k: v for k, v in found.items() if self.ranks.alone or "/rows/" not in k}

    def load_tensors(self, tensors: Tensors) -> None:
        for name, learner in self.learners.items():
            learner.load({k.removeprefix(f"{name}/"): v for k, v in tensors.items() if k.startswith(f"{name}/") and (self.ranks.alone or "/rows/" not in k)})


def explained_variance(values: torch.Tensor, returns: torch.Tensor, mean: Mean) -> torch.Tensor:
    """How much of the returns' variance the values explain, at most 1; over all processes."""
    with torch.no_grad():
        return 1.0 - mean.variance(returns - values) / (mean.variance(returns) + 1e-8)
