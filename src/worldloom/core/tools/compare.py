"""Comparing devices: the same worlds with the same random actions on each, every column looked at after every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.registry.registry import Definition, definition
from worldloom.core.runtime.table import Column, PopulationTable, Table
from worldloom.core.simulation import Simulation

GPU_TOLERANCE = 1e-4
"""How far real numbers may lie apart where a GPU takes part: its elementary functions round differently from the CPU's."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Difference:
    """The first number in which two devices differ.

    Attributes:
        column: The column, as ``Table.name``.
        world: The world, counted from 0 in the batch.
        place: Where in the world's part of the column: the entity first, then the element; empty for one number per world.
        step: The step after which it was seen; 0 is the state after the reset.
        reference: The device compared with.
        device: The device that differs from it.
        expected: The number on the reference.
        found: The number on the device.
        elsewhere: The other columns that differ after the same step.
    """

    column: str
    world: int
    place: tuple[int, ...]
    step: int
    reference: str
    device: str
    expected: bool | int | float
    found: bool | int | float
    elsewhere: tuple[str, ...] = ()

    def __str__(self) -> str:
        inside = f"[{', '.join(map(str, self.place))}]" if self.place else ""
        more = f" (also after this step: {', '.join(self.elsewhere)})" if self.elsewhere else ""
        values = f"{self.expected!r} on {self.reference}, {self.found!r} on {self.device}"
        return f"{self.column}{inside} differs in world {self.world} after step {self.step}: {values}{more}"


def first_difference(
    reference: Simulation, other: Simulation, step: int, atol: float = 0.0, rtol: float = 0.0
) -> Difference | None:
    """Where ``other`` differs from ``reference`` now: the first differing column, and the first world in it.

    Whole numbers and truth values must be equal. Real numbers must be equal bit for bit where both tolerances are 0, and
    otherwise lie within ``atol + rtol * |expected|``. NaN equals NaN. Of a population only the places that hold an entity count.
    """
    found: list[tuple[Column, Array, Array, Array]] = []
    for table in reference.tables.values():
        for column in table:
            expected, seen = column.numpy(), other.tables[table.name][column.field.name].numpy()
            wrong = ~_same(expected, seen, atol, rtol) & _occupied(table, expected.ndim)
            if wrong.any():
                found.append((column, expected, seen, wrong))
    if not found:
        return None
    column, expected, seen, wrong = found[0]
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    world, inside = reference.tables[column.table].locate(place)
    return Difference(
        column.name,
        world,
        inside,
        step,
        device_name(reference),
        device_name(other),
        expected[place].item(),
        seen[place].item(),
        tuple(other_column.name for other_column, *_ in found[1:]),
    )


def _occupied(table: Table, axes: int) -> Array:
    """Which places of a table hold an entity, to go with a column of ``axes`` axes; all do where the number is fixed."""
    if not isinstance(table, PopulationTable):
        return np.ones((1,) * axes, bool)
    held = table.occupied_rows()
    return held.reshape(*held.shape, *(1,) * (axes - held.ndim))


def _same(expected: Array, seen: Array, atol: float, rtol: float) -> Array:
    """Which elements count as equal, in the shape of the column."""
    if expected.dtype.kind != "f":
        return np.asarray(expected == seen)
    if atol == 0.0 and rtol == 0.0:
        bits = np.dtype(f"u{expected.dtype.itemsize}")
        return np.asarray((expected.view(bits) == seen.view(bits)) | (np.isnan(expected) & np.isnan(seen)))
    return np.isclose(seen.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=atol, equal_nan=True)


def device_name(simulation: Simulation) -> str:
    """The device of a simulation as it is written on the command line."""
    return "python" if simulation.interpreted else str(simulation.device.alias)


def copy_state(reference: Simulation, other: Simulation) -> None:
    """Copy every column of ``reference`` into ``other``."""
    for table in reference.tables.values():
        for column in table:
            other.tables[table.name][column.field.name].assign(column.numpy())


class Comparison:
    """One simulation per device, stepped side by side.

    Args:
        world: The id of a registered world, or its definition.
        devices: The devices; the first is the reference for the others.
        num_worlds: Worlds per device.
        seed: Where the worlds' random numbers and the actions start.
        atol, rtol: Tolerances for real numbers; None takes 0 where no GPU takes part, and GPU_TOLERANCE where one does.
        sync: Whether the reference's columns are copied to the other devices after each step, so that the rounding of one step
            is judged and not what hundreds of steps make of it.
        exact: Whether the devices run in exact mode; they are then held to the bit, whatever they are.
    """

    def __init__(
        self,
        world: str | Definition,
        devices: Sequence[str],
        num_worlds: int,
        *,
        seed: int = 0,
        atol: float | None = None,
        rtol: float | None = None,
        sync: bool = True,
        exact: bool = False,
    ) -> None:
        if len(devices) < 2:
            raise InputError(
                f"a comparison takes two devices or more, such as python,cpu, not {', '.join(devices) or 'none'}"
            )
        for name, value in (("atol", atol), ("rtol", rtol)):
            if value is not None and not value >= 0.0:
                raise InputError(f"{name} is a number of 0 or more, not {value!r}")
        made = definition(world) if isinstance(world, str) else world
        self.simulations = [Simulation(made, num_worlds, device, seed=seed, exact=exact) for device in devices]
        self.sync, self._generator = sync, np.random.default_rng(seed)
        self._atol, self._rtol, self._exact = atol, rtol, exact
        self.steps_done = 0
        self.num_columns = sum(1 for table in self.reference.tables.values() for _ in table)

    @property
    def reference(self) -> Simulation:
        return self.simulations[0]

    def tolerances(self, other: Simulation) -> tuple[float, float]:
        """The absolute and the relative tolerance between the reference and ``other``."""
        on_gpu = self.reference.device.is_cuda or other.device.is_cuda
        default = GPU_TOLERANCE if on_gpu and not self._exact else 0.0
        return default if self._atol is None else self._atol, default if self._rtol is None else self._rtol

    def compare_now(self) -> Difference | None:
        """Compare the devices as they stand."""
        for other in self.simulations[1:]:
            found = first_difference(self.reference, other, self.steps_done, *self.tolerances(other))
            if found is not None:
                return found
        return None

    def step(self) -> Difference | None:
        """Let every device take one step with the same random actions, and compare them."""
        actions = random_actions(self.reference, self._generator)
        for simulation in self.simulations:
            simulation.step(actions or None)
        self.steps_done += 1
        found = self.compare_now()
        if found is None and self.sync:
            self._copy_reference_state()
        return found

    def _copy_reference_state(self) -> None:
        for other in self.simulations[1:]:
            if self.tolerances(other) != (0.0, 0.0):
                copy_state(self.reference, other)

    def run(self, steps: int, after_step: Callable[[int], None] | None = None) -> Difference | None:
        """Compare after the reset and after each of ``steps`` steps; the first difference, or None.

        ``after_step`` is told how many steps have been compared.
        """
        if steps < 0:
            raise InputError(f"steps is a whole number of 0 or more, not {steps!r}")
        found = self.compare_now()
        while found is None and self.steps_done < steps:
            found = self.step()
            if after_step is not None:
                after_step(self.steps_done)
        return found

    def __enter__(self) -> Comparison:
        return self

    def __exit__(self, *details: object) -> None:
        for simulation in self.simulations:
            simulation.close()


def compare(
    world: str | Definition,
    devices: Sequence[str] = ("python", "cpu"),
    *,
    num_worlds: int = 8,
    steps: int = 100,
    **settings: Any,
) -> Difference | None:
    """Run a world on several devices with the same random actions; the first difference after the reset or any step, or None.

    ``settings`` are those of :class:`Comparison`.
    """
    with Comparison(world, devices, num_worlds, **settings) as comparison:
        return comparison.run(steps)
