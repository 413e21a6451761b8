"""Metrics that a world declares with ``wl.Info(..., metric=True)``: the last values in episodes."""

from __future__ import annotations

import torch

from worldloom.core.model.fields import Role
from worldloom.core.runtime.table import PopulationTable
from worldloom.core.schedule.table_views import FINAL
from worldloom.core.simulation import Simulation


class EpisodeMetrics:
    """Means over episodes of the last value of each metric; of several entities, the mean over them.

    The names are those of the components, with their kind where two kinds have the same name. Metrics of populations
    are left out: their entities may not exist at the end of an episode.

    Args:
        simulation: Worlds with same-step autoreset.
    """

    def __init__(self, simulation: Simulation) -> None:
        declared = [
            column
            for column in simulation.columns(Role.INFO).values()
            if column.field.metric and not isinstance(simulation.tables[column.table], PopulationTable)
        ]
        names = [column.field.name for column in declared]
        self._worlds = simulation.num_worlds
        self._columns = {
            column.field.name if names.count(column.field.name) == 1 else column.name: simulation.tables[column.table][
                FINAL + column.field.name
            ].torch()
            for column in declared
        }
        self._values: dict[str, list[torch.Tensor]] = {name: [] for name in self._columns}

    def add(self, ended: torch.Tensor) -> None:
        """Add the episodes that ended in the last step, a truth value per world, shape (num_worlds,)."""
        for name, column in self._columns.items():
            self._values[name].append(column.view(self._worlds, -1)[ended].double().mean(1))

    def means(self) -> dict[str, float]:
        """The mean of each metric over the episodes so far, by name."""
        return {name: float(torch.cat(values).mean()) for name, values in self._values.items()}
