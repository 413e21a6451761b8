"""Recording the economy: one world day by day, or totals of a whole batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

import numpy as np

from worldloom.core.simulation import Simulation
from worldloom.envs.covid.data import Parameters
from worldloom.envs.covid.history import Array, EpisodeHistory, country_fields

GOVERNOR_COLUMNS = {
    "level": "level",
    "susceptible": "susceptible",
    "infected": "infected",
    "recovered": "recovered",
    "vaccinated": "vaccinated",
    "deaths": "deaths",
    "unemployed": "unemployed",
    "productivity": "productivity",
    "governor_rewards": "reward",
}
"""The governor's component of each part of a history."""


def _read(simulation: Simulation, table: str, name: str, world: slice | int) -> Array:
    return np.array(simulation[table][name].numpy()[world], np.float64)  # a copy: steps overwrite the column


class EpisodeRecording:
    """Records one world of a simulation, day by day.

    Args:
        simulation: Worlds of the economy with ``autoreset="disabled"``, so that the last day is recorded.
        parameters: The parameters of the economy.
        world: The index of the world.
    """

    def __init__(self, simulation: Simulation, parameters: Parameters, world: int = 0) -> None:
        self.simulation, self.parameters, self.world = simulation, parameters, world
        self._days: list[dict[str, Any]] = []

    def record_day(self) -> None:
        """Record the day of the last step."""
        day = {
            name: _read(self.simulation, "Governor", component, self.world)
            for name, component in GOVERNOR_COLUMNS.items()
        }
        day["subsidy"] = _read(self.simulation, "Planner", "spending", self.world)[0]
        day["planner_rewards"] = _read(self.simulation, "Planner", "reward", self.world)[0]
        self._days.append(day)

    def history(self, label: str) -> EpisodeHistory:
        """The recorded days."""
        columns = {name: np.stack([day[name] for day in self._days]) for name in self._days[0]} if self._days else {}
        days = np.arange(1.0, len(self._days) + 1.0)
        return EpisodeHistory(label=label, **country_fields(self.parameters), days=days, **columns)


class Evaluation(Protocol):
    """Policies that act in a simulation."""

    @property
    def simulation(self) -> Simulation:
        """The worlds."""
        ...

    def step(self) -> tuple[Any, Mapping[str, Any]]:
        """One step of all policies; returns the worlds whose episode ended, and rewards by policy."""
        ...


def play_policies(
    evaluation: Evaluation, parameters: Parameters, label: str, on_day: Callable[[int], None] | None = None
) -> EpisodeHistory:
    """Record one episode of trained policies in world 0.

    Args:
        evaluation: The policies in new worlds with ``autoreset="disabled"``; ``learn.play.evaluation.Evaluation``.
        parameters: The parameters of the economy.
        label: The name of the history.
        on_day: Called with the number of finished days.
    """
    return record_episode(evaluation.simulation, parameters, label, lambda: bool(evaluation.step()[0][0]), on_day)


def record_episode(
    simulation: Simulation,
    parameters: Parameters,
    label: str,
    step: Callable[[], bool],
    on_day: Callable[[int], None] | None = None,
) -> EpisodeHistory:
    """Record one episode of world 0; ``step`` performs a step and returns whether the episode has ended."""
    recording = EpisodeRecording(simulation, parameters)
    for day in range(simulation.definition.max_steps):
        ended = step()
        recording.record_day()
        if on_day is not None:
            on_day(day + 1)
        if ended:
            break
    return recording.history(label)


class BatchTotals:
    """Sums over the days of every world; :meth:`totals` equals ``EpisodeHistory.totals`` of each world.

    Args:
        simulation: Worlds of the economy with ``autoreset="disabled"``.
        parameters: The parameters of the economy.
    """

    def __init__(self, simulation: Simulation, parameters: Parameters) -> None:
        self.simulation = simulation
        self.population = np.asarray(parameters.population, np.float64)
        self.days = 0
        self._sums: dict[str, Array] = {}

    def record_day(self) -> None:
        """Add the day of the last step."""
        every, people = slice(None), self.population.sum()
        governor = {
            name: _read(self.simulation, "Governor", name, every)
            for name in ("reward", "unemployed", "productivity", "level")
        }
        today = {
            "planner_welfare": _read(self.simulation, "Planner", "reward", every)[:, 0],
            "governor_welfare": governor["reward"].mean(1),
            "unemployment": governor["unemployed"].sum(1) / people * 100.0,
            "productivity": governor["productivity"].sum(1),
            "subsidies": _read(self.simulation, "Planner", "spending", every)[:, 0],
            "level": governor["level"] @ self.population / people,
        }
        self._sums = {name: self._sums.get(name, 0.0) + value for name, value in today.items()}
        self.days += 1

    def totals(self) -> list[dict[str, float]]:
        """The totals of each world, as ``EpisodeHistory.totals``."""
        deaths = _read(self.simulation, "Governor", "deaths", slice(None)).sum(1)
        means = {"unemployment", "productivity", "level"}
        totals = {name: value / self.days if name in means else value for name, value in self._sums.items()}
        return [
            {
                "days": float(self.days),
                **{name: float(value[world]) for name, value in totals.items()},
                "deaths": float(deaths[world]),
            }
            for world in range(self.simulation.num_worlds)
        ]
