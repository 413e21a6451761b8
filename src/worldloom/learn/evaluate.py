"""Evaluation: finished policies play whole episodes, without learning."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import torch

from worldloom.core.errors import InputError
from worldloom.core.simulation import Simulation
from worldloom.learn.actions import to_world
from worldloom.learn.seats import Seats
from worldloom.learn.torch_settings import suited

MOST_WORLDS = 1024
"""Worlds that play side by side; further episodes follow in the same ones."""


class Acts(Protocol):
    """Anything that chooses actions: (observations, state, mask) to (actions, state), all with a row per agent."""

    def initial_state(self, rows: int, device: torch.device | str) -> torch.Tensor:
        """The memory with which episodes begin, shape (rows, size)."""

    def act(self, observations: Mapping[str, torch.Tensor], state: torch.Tensor, mask: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
        """Actions of shape (rows, width), and the memory afterwards."""


class Match:
    """Finished policies at play.

    Args:
        simulation: The worlds.
        players: Who plays whom, by name.
    """

    def __init__(self, simulation: Simulation, players: Mapping[str, tuple[Seats, Acts]]) -> None:
        self.simulation, self.players = simulation, dict(players)
        self._states = {name: actor.initial_state(seats.rows, seats.device) for name, (seats, actor) in players.items()}

    def step(self) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        """Everybody acts once. Returns the worlds whose episode ended, bool [worlds], and what each agent got, by policy, [rows]."""
        with torch.no_grad():
            return self._step()

    def _step(self) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        present = {}
        for name, (seats, actor) in self.players.items():
            present[name] = seats.active().clone()
            actions, self._states[name] = actor.act({key: now.clone() for key, now in seats.observations().items()}, self._states[name], seats.mask())
            taken, memory = to_world(seats.spec.action, actions), seats.action_memory()
            seats.write_actions(taken) if memory is None else memory.copy_(taken)
        self.simulation.step()
        ended = self.simulation.terminated.torch() | self.simulation.truncated.torch()
        got = {}
        for name, (seats, _) in self.players.items():
            got[name] = torch.nan_to_num(seats.rewards().float()) * present[name]
            self._states[name] = self._states[name] * ~seats.world_ended()[:, None]
        return ended, got


@dataclass(frozen=True)
class Evaluation:
    """What came of some episodes.

    Attributes:
        episodes: How many.
        mean_return, std_return, least_return, greatest_return: Of the undiscounted returns, per agent; the spread is NaN for a single one.
        mean_length: Steps per episode.
        steps_per_second: World steps of these episodes over wall time.
        returns: Mean return by policy.
    """

    episodes: int
    mean_return: float
    std_return: float
    least_return: float
    greatest_return: float
    mean_length: float
    steps_per_second: float
    returns: dict[str, float]


def evaluate(
    simulation: Simulation,
    players: Mapping[str, tuple[Seats, Acts]],
    episodes: int,
    tell: Callable[[int], None] | None = None,
    most_steps: int = 1_000_000,
) -> Evaluation:
    """Play ``episodes`` whole episodes. How many a world plays is settled beforehand, so that short ones are not favoured.

    Args:
        simulation: Fresh worlds with same-step autoreset.
        players: Who plays whom, by name.
        episodes: How many; each world plays its share, and the first ones one more where it does not come out even.
        tell: Called after every step with the number of finished episodes.
        most_steps: Steps after which a world that never ends is given up.
    """
    if episodes < 1:
        raise InputError(f"at least one episode must be played, not {episodes}")
    seats = [played for played, _ in players.values()]
    numbers = max(s.rows * sum(part.features for part in s.spec.observations.values()) for s in seats)
    with suited(seats[0].device, numbers):
        return _play(simulation, players, episodes, tell, most_steps)


def _play(simulation: Simulation, players: Mapping[str, tuple[Seats, Acts]], episodes: int, tell: Callable[[int], None] | None, most_steps: int) -> Evaluation:
    match, worlds = Match(simulation, players), simulation.num_worlds
    device = next(iter(players.values()))[0].device
    left = episodes // worlds + (torch.arange(worlds, device=device) < episodes % worlds).long()
    lengths = torch.zeros(worlds, dtype=torch.int64, device=device)
    running = {name: torch.zeros(seats.rows, dtype=torch.float64, device=device) for name, (seats, _) in players.items()}
    finished: dict[str, list[torch.Tensor]] = {name: [] for name in players}
    start, steps, total_length = time.perf_counter(), 0, 0
    while (waiting := int(left.sum())) > 0:
        if tell is not None:
            tell(episodes - waiting)
        if steps >= most_steps:
            raise InputError(f"an episode did not end within {most_steps} steps: give the world a time limit with max_steps")
        ended, got = match.step()
        counted = ended & (left > 0)
        for name, (seats, _) in players.items():
            running[name] += got[name]
            by_world = running[name].view(worlds, seats.agents)
            finished[name].append(by_world[counted].flatten())
            by_world *= ~ended[:, None]
        lengths += 1
        total_length += int(lengths[counted].sum())
        lengths *= ~ended
        left -= counted.long()
        steps += 1
    seconds = time.perf_counter() - start
    if tell is not None:
        tell(episodes)
    by_policy = {name: torch.cat(parts).cpu() for name, parts in finished.items()}
    everything = torch.cat(list(by_policy.values()))
    return Evaluation(
        episodes,
        float(everything.mean()),
        float(everything.std()) if len(everything) > 1 else math.nan,
        float(everything.min()),
        float(everything.max()),
        total_length / episodes,
        total_length / seconds,
        {name: float(values.mean()) for name, values in by_policy.items()},
    )


def worlds_for(episodes: int) -> int:
    """How many worlds play ``episodes`` episodes side by side."""
    return max(1, min(episodes, MOST_WORLDS))
