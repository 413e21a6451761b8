"""Recording the economy as it runs: one world day by day, or a whole batch in sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldloom.core.simulation import Simulation
from worldloom.envs.covid.data import Parameters
from worldloom.envs.covid.history import Array, EpisodeHistory, start_date

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
"""What a history calls it, and the governor's component."""


def _read(simulation: Simulation, table: str, name: str, world: slice | int) -> Array:
    return np.array(simulation[table][name].numpy()[world], np.float64)  # a copy: the column itself goes on changing


class EpisodeRecording:
    """Keeps one world of a simulation, day by day.

    Args:
        simulation: Worlds of the economy made with ``autoreset="disabled"``, so that the last day is seen.
        parameters: What they were made of.
        world: Which of them.
    """

    def __init__(self, simulation: Simulation, parameters: Parameters, world: int = 0) -> None:
        self.simulation, self.parameters, self.world = simulation, parameters, world
        self._days: list[dict[str, Any]] = []

    def record_day(self) -> None:
        """After a step: keep this day."""
        day = {
            name: _read(self.simulation, "Governor", component, self.world)
            for name, component in GOVERNOR_COLUMNS.items()
        }
        day["subsidy"] = _read(self.simulation, "Planner", "spending", self.world)[0]
        day["planner_rewards"] = _read(self.simulation, "Planner", "reward", self.world)[0]
        self._days.append(day)

    def history(self, label: str) -> EpisodeHistory:
        """What was kept so far."""
        data = self.parameters
        kept = {name: np.stack([day[name] for day in self._days]) for name in self._days[0]} if self._days else {}
        population = np.asarray(data.population, np.float64)
        days = np.arange(1.0, len(self._days) + 1.0)
        return EpisodeHistory(
            label,
            tuple(data.states),
            tuple(data.postal),
            population,
            float(population.sum()),
            start_date(data),
            days,
            **kept,
        )


class BatchTotals:
    """Sums over the days of every world of a simulation, from which :meth:`totals` makes what ``EpisodeHistory.totals`` gives for one.

    Args:
        simulation: Worlds of the economy made with ``autoreset="disabled"``.
        parameters: What they were made of.
    """

    def __init__(self, simulation: Simulation, parameters: Parameters) -> None:
        self.simulation = simulation
        self.population = np.asarray(parameters.population, np.float64)
        self.days = 0
        self._sums: dict[str, Array] = {}

    def record_day(self) -> None:
        """After a step: add this day."""
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
        """For each world what ``EpisodeHistory.totals`` gives, by the same names."""
        deaths = _read(self.simulation, "Governor", "deaths", slice(None)).sum(1)
        means = {"unemployment", "productivity", "level"}
        found = {name: value / self.days if name in means else value for name, value in self._sums.items()}
        return [
            {
                "days": float(self.days),
                **{name: float(value[world]) for name, value in found.items()},
                "deaths": float(deaths[world]),
            }
            for world in range(self.simulation.num_worlds)
        ]
