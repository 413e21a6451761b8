"""The base class of the parts of a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation


class SimulationPart:
    """A mixin of :class:`~worldloom.core.simulation.Simulation`."""

    def _simulation(self) -> Simulation:
        """The object as the whole simulation; InputError where it is closed."""
        simulation = cast("Simulation", self)
        simulation._check_open()
        return simulation
