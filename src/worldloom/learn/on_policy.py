"""What PPO, A2C and V-trace share: roll out, then learn from it, for every policy of the world."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
        self._both = Repeated(self._roll_out_and_update, self.device, captured and self.ranks.capturable, self._version)
        self._rolled_out = False
        """Whether there is a roll-out to learn from while the next one is taken."""
        self._aside = torch.cuda.Stream(self.device) if self.device.type == "cuda" and config.overlap else None
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

    def gather(self, learner: Learner) -> Any:
        """What an update learns from; the next roll-out leaves it alone where both run at once."""
        return learner.kept()

    @abstractmethod
    def update(self, learner: Learner, gathered: Any) -> None:
        """Learn from what was ``gathered`` of a roll-out, and leave ``metric_names`` in ``learner.metrics``."""

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
        if self.config.overlap and self._rolled_out:
            self._both()
        else:
            self._roll()
            self._rolled_out = True
            self._reports.mark()
            if not self.config.overlap:
                self._learn()
        return self.new_steps

    def _roll_out(self) -> None:
        roll_out(self.simulation, [learner.player for learner in self.learners.values()], range(self.config.num_steps), self._captured)

    def _update(self) -> None:
        for learner in self.learners.values():
            if learner.train:
                learner.finish_rewards(self.new_steps)
                self.update(learner, self.gather(learner))
                learner.update_statistics(self.new_steps)
            learner.summarize()

    def _roll_out_and_update(self) -> None:
        """Learn from the last roll-out while the next one is taken."""
        learning = [learner for learner in self.learners.values() if learner.train]
        for learner in learning:
            learner.finish_rewards(self.new_steps)
            learner.hand_over()
        gathered = [self.gather(learner) for learner in learning]  # kept until both are done, so that its memory is not used for anything else
        with self._at_once():
            for learner, batch in zip(learning, gathered, strict=True):
                self.update(learner, batch)
        self._roll_out()
        self._wait()
        for learner in self.learners.values():
            if learner.train:
                learner.update_statistics(self.new_steps)
            learner.summarize()

    @contextmanager
    def _at_once(self) -> Iterator[None]:
        """On a GPU, run what follows beside what comes after it, until :meth:`_wait`."""
        if self._aside is None:
            yield
            return
        self._aside.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(self._aside):
            yield

    def _wait(self) -> None:
        if self._aside is not None:
            torch.cuda.current_stream(self.device).wait_stream(self._aside)

    def trains(self, policy: str) -> bool:
        return self.learners[policy].train

    def summaries(self) -> Mapping[str, torch.Tensor]:
        return {name: learner.summary for name, learner in self.learners.items()}

    def tensors(self) -> Tensors:
        found = {f"{name}/{key}": tensor for name, learner in self.learners.items() for key, tensor in learner.tensors().items()}
        return {k: v for k, v in found.items() if self.ranks.alone or "/rows/" not in k}

    def load_tensors(self, tensors: Tensors) -> None:
        self._rolled_out = False
        for name, learner in self.learners.items():
            learner.load({k.removeprefix(f"{name}/"): v for k, v in tensors.items() if k.startswith(f"{name}/") and (self.ranks.alone or "/rows/" not in k)})


def explained_variance(values: torch.Tensor, returns: torch.Tensor, mean: Mean) -> torch.Tensor:
    """How much of the returns' variance the values explain, at most 1; over all processes."""
    with torch.no_grad():
        return 1.0 - mean.variance(returns - values) / (mean.variance(returns) + 1e-8)
