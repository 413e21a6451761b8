"""Metrics that a world declares with ``wl.Info(..., metric=True)``: the last values in episodes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from worldloom.core.model.fields import Role
from worldloom.core.runtime.table import PopulationTable
from worldloom.core.schedule.table_views import FINAL
from worldloom.core.simulation import Simulation


def metric_columns(simulation: Simulation) -> dict[str, torch.Tensor]:
    """The last values of each metric in finished episodes, by name: shape (num_worlds, entities).

    The names are those of the components, with their kind where two kinds have the same name. Metrics of populations
    are left out: their entities may not exist at the end of an episode. Empty without same-step autoreset.
    """
    if simulation.autoreset != "same_step":
        return {}
    declared = [
        column
        for column in simulation.columns(Role.INFO).values()
        if column.field.metric and not isinstance(simulation.tables[column.table], PopulationTable)
    ]
    names = [column.field.name for column in declared]
    return {
        column.field.name if names.count(column.field.name) == 1 else column.name: simulation.tables[column.table][
            FINAL + column.field.name
        ]
        .torch()
        .view(simulation.num_worlds, -1)
        for column in declared
    }


class EpisodeMetrics:
    """Means over episodes of the last value of each metric; of several entities, the mean over them.

    Args:
        simulation: Worlds with same-step autoreset.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._columns = metric_columns(simulation)
        self._values: dict[str, list[torch.Tensor]] = {name: [] for name in self._columns}

    def add(self, ended: torch.Tensor) -> None:
        """Add the episodes that ended in the last step, a truth value per world, shape (num_worlds,)."""
        for name, column in self._columns.items():
            self._values[name].append(column[ended].double().mean(1))

    def means(self) -> dict[str, float]:
        """The mean of each metric over the episodes so far, by name."""
        return {name: float(torch.cat(values).mean()) for name, values in self._values.items()}


class LastEpisodes:
    """Metrics of the last finished episode of every world, without a device synchronization.

    Attributes:
        names: Names of the metrics.
    """

    def __init__(self, simulation: Simulation) -> None:
        self._columns = metric_columns(simulation)
        self._episodes = simulation.world.episode.torch()
        self.names = tuple(self._columns)

    def sums(self) -> torch.Tensor:
        """Sums over the worlds that have finished an episode, and the number of these: float64, (metrics + 1,)."""
        finished = self._episodes > 0
        sums = [torch.where(finished, column.double().mean(1), 0.0).sum() for column in self._columns.values()]
        return torch.stack([*sums, finished.sum().double()])

    def means(self, sums: Sequence[float]) -> dict[str, float]:
        """The mean of each metric by name; NaN where no episode has been finished."""
        *totals, count = sums
        return {name: total / count if count else math.nan for name, total in zip(self.names, totals, strict=True)}
