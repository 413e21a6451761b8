"""Comparison of devices: the same worlds and random actions on each, with all columns compared after every step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import definition
from worldloom.core.runtime.column import Column
from worldloom.core.runtime.table import PopulationTable, Table
from worldloom.core.simulation import Simulation

GPU_TOLERANCE = 1e-4
"""Tolerance for floats in comparisons with a GPU, whose elementary functions round differently from the CPU's."""

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Difference:
    """The first number in which two devices differ.

    Attributes:
        column: The column, as ``Table.name``.
        world: The index of the world in the batch.
        place: The index within the world: the entity first, then the element; empty for one number per world.
        step: The step after which it was detected; 0 is the state after the reset.
        reference: The reference device.
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
    """The current difference of ``other`` from ``reference``: the first differing column, and the first world in it.

    Integers and truth values must be equal. Floats must be equal bit for bit where both tolerances are 0, and otherwise
    lie within ``atol + rtol * |expected|``. NaN equals NaN. Empty slots of populations are ignored.
    """
    differences: list[tuple[Column, Array, Array, Array]] = []
    for table in reference.tables.values():
        for column in table:
            expected, actual = column.numpy(), other.tables[table.table_name][column.field.name].numpy()
            wrong = ~_equal(expected, actual, atol, rtol) & _occupied(table, expected.ndim)
            if wrong.any():
                differences.append((column, expected, actual, wrong))
    if not differences:
        return None
    column, expected, actual, wrong = differences[0]
    index = tuple(int(i) for i in np.argwhere(wrong)[0])
    world, place = reference.tables[column.table].locate(index)
    return Difference(
        column=column.name,
        world=world,
        place=place,
        step=step,
        reference=device_name(reference),
        device=device_name(other),
        expected=expected[index].item(),
        found=actual[index].item(),
        elsewhere=tuple(other_column.name for other_column, *_ in differences[1:]),
    )


def _occupied(table: Table, axes: int) -> Array:
    """Which slots of a table hold an entity, broadcastable to ``axes`` axes; all where the number is fixed."""
    if not isinstance(table, PopulationTable):
        return np.ones((1,) * axes, bool)
    occupied = table.occupied_rows()
    return occupied.reshape(*occupied.shape, *(1,) * (axes - occupied.ndim))


def _equal(expected: Array, actual: Array, atol: float, rtol: float) -> Array:
    """Which elements are equal within the tolerances, in the shape of the column."""
    if expected.dtype.kind != "f":
        return np.asarray(expected == actual)
    if atol == 0.0 and rtol == 0.0:
        bits = np.dtype(f"u{expected.dtype.itemsize}")
        return np.asarray((expected.view(bits) == actual.view(bits)) | (np.isnan(expected) & np.isnan(actual)))
    return np.isclose(actual.astype(np.float64), expected.astype(np.float64), rtol=rtol, atol=atol, equal_nan=True)


def device_name(simulation: Simulation) -> str:
    """The name of a simulation's device on the command line."""
    return "python" if simulation.interpreted else str(simulation.device.alias)


def copy_state(reference: Simulation, other: Simulation) -> None:
    """Copy every column of ``reference`` into ``other``."""
    for table in reference.tables.values():
        for column in table:
            other.tables[table.table_name][column.field.name].assign(column.numpy())


class Comparison:
    """One simulation per device, stepped in parallel.

    Args:
        world: The id of a registered world, or its definition.
        devices: The devices; the first is the reference for the others.
        num_worlds: Worlds per device.
        seed: Seed of the worlds and of the actions.
        atol, rtol: Tolerances for floats; None takes 0 between CPUs, and GPU_TOLERANCE where one device is a GPU.
        sync: Whether the reference's columns are copied to the other devices after each step, so that the rounding of
            single steps is compared and does not accumulate.
        exact: Whether the devices run in exact mode, in which all bits must be equal on every device.
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
        world = definition(world) if isinstance(world, str) else world
        self.simulations = [Simulation(world, num_worlds, device, seed=seed, exact=exact) for device in devices]
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
        """Compare the current states of the devices."""
        for other in self.simulations[1:]:
            difference = first_difference(self.reference, other, self.steps_done, *self.tolerances(other))
            if difference is not None:
                return difference
        return None

    def step(self) -> Difference | None:
        """Step every device with the same random actions, and compare them."""
        actions = random_actions(self.reference, self._generator)
        for simulation in self.simulations:
            simulation.step(actions or None)
        self.steps_done += 1
        difference = self.compare_now()
        if difference is None and self.sync:
            self._copy_reference_state()
        return difference

    def _copy_reference_state(self) -> None:
        for other in self.simulations[1:]:
            if self.tolerances(other) != (0.0, 0.0):
                copy_state(self.reference, other)

    def run(self, steps: int, after_step: Callable[[int], None] | None = None) -> Difference | None:
        """Compare after the reset and after each of ``steps`` steps; the first difference, or None.

        ``after_step`` is called with the number of steps compared so far.
        """
        if steps < 0:
            raise InputError(f"steps is a whole number of 0 or more, not {steps!r}")
        difference = self.compare_now()
        while difference is None and self.steps_done < steps:
            difference = self.step()
            if after_step is not None:
                after_step(self.steps_done)
        return difference

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
    """Run a world on several devices with the same random actions.

    Returns the first difference after the reset or any step, or None. ``settings`` are those of :class:`Comparison`.
    """
    with Comparison(world, devices, num_worlds, **settings) as comparison:
        return comparison.run(steps)
