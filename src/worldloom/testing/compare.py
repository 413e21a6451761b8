"""Comparison of a world file on devices with the reference: every column after every step."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import itertools
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import numpy as np
import warp as wp

from worldloom.core.codegen.tiles.tiled_kernel import TileLimits
from worldloom.testing.cuda_text import Machine
from worldloom.testing.generator.values import action_values, column_values
from worldloom.testing.reference.interpreter import Reference
from worldloom.testing.reference.types import FLOATS, Component

VARIANTS: dict[str, dict[str, Any]] = {
    "python": {"device": "python"},
    "python-exact": {"device": "python", "exact": True},
    "cpu": {"device": "cpu"},
    "cpu-unfused": {"device": "cpu", "fuse": False},
    "cpu-exact": {"device": "cpu", "exact": True},
    "cpu-threads": {"device": "cpu", "threads": 3},
    "cuda": {"device": "cuda:0"},
    "cuda-unfused": {"device": "cuda:0", "fuse": False},
    "cuda-exact": {"device": "cuda:0", "exact": True},
    "cuda-large": {"device": "cuda:0", "kernels_for": 2**17},
    "cuda-text": {"device": "python"},
    "cuda-text-exact": {"device": "python", "exact": True},
}
"""The variants that are compared with the reference: arguments of ``wl.Simulation``."""

ROUGH_TOLERANCE = 2e-5
"""Tolerance for elementary functions, relative to the larger of 1 and their result."""

SMOOTH_TOLERANCE = 1e-4
"""Relative tolerance for smooth worlds on a GPU in fast mode, which fuses multiply-adds."""

_LOADED = itertools.count()


@dataclass(frozen=True)
class Difference:
    """The first number in which a device differs from the reference.

    Attributes:
        variant: The key in :data:`VARIANTS`.
        column: The column, as ``Table.name``.
        world: The index of the world.
        place: The index of the entity, and of the element of its component.
        step: The step after which it was detected, counted from 1; 0 is the state after the reset.
        expected: The number on the reference.
        found: The number on the device.
        others: Number of other columns that differ after the same step.
    """

    variant: str
    column: str
    world: int
    place: tuple[int, ...]
    step: int
    expected: Any
    found: Any
    others: int = 0

    def __str__(self) -> str:
        more = f" (and {self.others} other columns)" if self.others else ""
        where = f"{self.column}{list(self.place) if self.place else ''} of world {self.world} after step {self.step}"
        return f"{self.variant}: {where} is {self.found!r}, expected {self.expected!r}{more}"


@dataclass(frozen=True)
class Settings:
    """The settings of a run: ``RUN`` of a world file."""

    num_worlds: int = 4
    steps: int = 3
    seed: int = 0
    autoreset: Literal["same_step", "next_step", "disabled"] = "disabled"
    fill: int | None = 0
    mode: str = "any"
    resets: tuple[int, ...] = ()

    @staticmethod
    def of(text: str) -> Settings:
        """The settings of a world file."""
        for node in ast.parse(text).body:
            if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "RUN":
                return Settings(**ast.literal_eval(node.value))
        return Settings()


def load(text: str, folder: Path) -> ModuleType:
    """Import a world file from its text; wl.DefinitionError where a system is refused."""
    name = f"fuzzed_world_{next(_LOADED)}"
    path = folder / f"{name}.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[name]
    return module


class Trace:
    """The run of a world file on the reference: the initial values, the actions, and every column after every step.

    Args:
        text: The world file.
        undefined: The number in transient components that nothing has written in a step.
    """

    def __init__(self, text: str, undefined: float = np.nan) -> None:
        self.settings = settings = Settings.of(text)
        options = (settings.num_worlds, settings.seed, settings.autoreset)
        self.reference = reference = Reference(text, *options, undefined=undefined)
        self.filled: dict[tuple[str, str], Any] = {}
        self.actions: list[dict[tuple[str, str], Any]] = []
        self.states: list[dict[tuple[str, str], Any]] = []
        if settings.fill is not None:
            for kind in reference.kinds.values():
                for component in kind.fields.values():
                    if component.role in ("state", "persistent", "config", "transient"):
                        drawn = (settings.num_worlds, settings.fill, settings.mode, reference.kinds)
                        values = column_values(kind, component, *drawn)
                        self.filled[kind.name, component.name] = values
                        reference.tables[kind.name][component.name][...] = values
        for step in range(settings.steps):
            self.actions.append(
                {
                    (kind.name, c.name): action_values(c, (settings.num_worlds, kind.rows), settings.seed, step)
                    for kind in reference.kinds.values()
                    for c in kind.fields.values()
                    if c.role == "action"
                }
            )
            if step in settings.resets:
                reference.reset(self.mask(step))
            reference.step(self.actions[-1])
            self.states.append(self._columns())

    def mask(self, step: int) -> Any:
        """The worlds that are reset before a step."""
        return np.arange(self.settings.num_worlds) % 2 == step % 2

    def _columns(self) -> dict[tuple[str, str], Any]:
        """Copies of all columns but transient ones, with flags and counts as fields of the world."""
        state = self.reference.state
        columns = {
            (kind, name): values.copy()
            for kind, table in state.tables.items()
            for name, values in table.items()
            if (component := self.component(kind, name)) is None or component.role != "transient"
        }
        fields = {name: state.flags[name] for name in ("terminated", "truncated")}
        fields |= {f"{kind}__count": counts for kind, counts in state.counts.items()}
        fields |= {f"{kind}__dropped": counts for kind, counts in state.dropped.items()}
        return columns | {("World", name): values[:, None].copy() for name, values in fields.items()}

    def component(self, kind: str, name: str) -> Component | None:
        return self.reference.kinds[kind].fields.get(name)

    def fitted(self, step: int) -> Any:
        """The worlds in which no spawned entity was dropped so far, shape (num_worlds,)."""
        dropped = [
            values[:, 0] > 0
            for state in self.states[: step + 1]
            for (_, name), values in state.items()
            if name.endswith("__dropped")
        ]
        return ~np.any(dropped, axis=0) if dropped else np.ones(self.settings.num_worlds, bool)

    def occupied(self, kind: str, step: int) -> Any:
        """Which rows of a table hold an entity after a step, shape (num_worlds, rows)."""
        spec = self.reference.kinds[kind]
        if not spec.varies:
            return np.ones((self.settings.num_worlds, spec.rows), bool)
        return np.arange(spec.rows)[None, :] < self.states[step]["World", f"{kind}__count"]


def expected_values(trace: Trace, column: str) -> Any:
    """The column ``Kind.name`` of the reference after the last step: nested lists, with text for infinities and NaN."""
    kind, name = column.split(".")

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(item) for item in value]
        return str(value) if isinstance(value, float) and not np.isfinite(value) else value

    return plain(trace.states[-1][kind, name].tolist())


def run(definition: Any, trace: Trace, variant: str) -> Difference | None:
    """Run a world on one device and compare it with the reference after every step; the first difference, or None."""
    import worldloom as wl

    settings = trace.settings
    options: dict[str, Any] = {"seed": settings.seed, "autoreset": settings.autoreset, **VARIANTS[variant]}
    with wl.Simulation(definition, settings.num_worlds, **options) as simulation:
        if variant.startswith("cuda-text"):
            Machine(simulation, simulation.exact, tiles=TileLimits(shared_bytes=0)).take_over(settings.seed)
        for (kind, name), values in trace.filled.items():
            component = trace.component(kind, name)
            if component is not None and component.role == "config":
                simulation.set_config(name, values[:, 0])
            else:
                _assign(simulation, trace, kind, name, values)
        for step in range(settings.steps):
            if step in settings.resets:
                with contextlib.suppress(wl.CapacityError):
                    simulation.reset(trace.mask(step))
            actions = {f"{kind}.{name}": values for (kind, name), values in trace.actions[step].items()}
            with contextlib.suppress(wl.CapacityError):  # dropped entities are counted, and compared below
                simulation.step(actions or None)
                if simulation.device.is_cuda:  # the overflow is known after the step
                    wp.synchronize_device(simulation.device)
                    simulation.check_capacity()
            difference = compare_state(simulation, trace, step, variant)
            if difference is not None:
                return difference
    return None


def compare_state(simulation: Any, trace: Trace, step: int, variant: str) -> Difference | None:
    """The first difference between a simulation and the reference after a step."""
    differences: list[tuple[str, tuple[int, ...], Any, Any]] = []
    for (kind, name), expected in trace.states[step].items():
        column = simulation.tables[kind].all_columns.get(name)
        if column is None or column.field.role.value == "config":
            continue
        actual = _read(simulation, trace, kind, name, expected.shape)
        wrong = ~_equal(expected, actual, *_tolerance(trace, name, variant))
        wrong &= trace.occupied(kind, step).reshape(wrong.shape[:2] + (1,) * (wrong.ndim - 2))
        if variant.startswith("cuda"):  # on a GPU, the entities that an overflow drops are not fixed
            wrong &= trace.fitted(step).reshape((-1,) + (1,) * (wrong.ndim - 1))
        if wrong.any():
            index = tuple(int(i) for i in np.argwhere(wrong)[0])
            differences.append((f"{kind}.{name}", index, expected[index].item(), actual[index].item()))
    if not differences:
        return None
    column_name, index, expected, actual = differences[0]
    return Difference(variant, column_name, index[0], index[1:], step + 1, expected, actual, len(differences) - 1)


def _assign(simulation: Any, trace: Trace, kind: str, name: str, values: Any) -> None:
    """Assign values to a column; in a pooled table, only to the rows that hold an entity."""
    column = simulation.tables[kind][name]
    if not trace.reference.kinds[kind].pooled:
        column.assign(values.reshape(column.shape))
        return
    rows, counts = column.numpy().copy(), simulation.tables["World"][f"{kind}__count"].numpy()
    rows[: counts.sum()] = np.concatenate([values[w, :n] for w, n in enumerate(counts)])
    column.assign(rows)


def _read(simulation: Any, trace: Trace, kind: str, name: str, shape: tuple[int, ...]) -> Any:
    """A column with the shape (num_worlds, rows, ...)."""
    values = simulation.tables[kind][name].numpy()
    if kind == "World" or not trace.reference.kinds[kind].pooled:
        return values.reshape(shape)
    rows, start = np.zeros(shape, values.dtype), 0
    for world, count in enumerate(simulation.tables["World"][f"{kind}__count"].numpy()):
        rows[world, :count] = values[start : start + count]
        start += count
    return rows


def _tolerance(trace: Trace, name: str, variant: str) -> tuple[float, bool]:
    """The tolerance for a column, and whether the sign of 0 is compared."""
    if name.startswith("rough"):
        return ROUGH_TOLERANCE, False
    fast_gpu = variant.startswith("cuda") and "exact" not in variant
    return (SMOOTH_TOLERANCE if fast_gpu and trace.settings.mode == "smooth" else 0.0), trace.settings.mode == "any"


def _equal(expected: Any, actual: Any, tolerance: float, signs: bool) -> Any:
    """Which elements of two arrays are equal: bit for bit, but for the bits of NaN, or within a tolerance."""
    if expected.dtype.name not in FLOATS:
        return expected == actual
    with np.errstate(all="ignore"):
        equal = (expected == actual) | (np.isnan(expected) & np.isnan(actual))
        if signs:
            equal &= (np.signbit(expected) == np.signbit(actual)) | np.isnan(expected)
        if tolerance:
            equal |= np.abs(expected - actual) <= tolerance * np.maximum(1.0, np.abs(expected))
            huge = np.finfo(expected.dtype).max * (1 - 1e-5)
            equal |= (np.abs(expected) >= huge) & (np.abs(actual) >= huge) & (np.sign(expected) == np.sign(actual))
    return equal


def compare(text: str, variants: Sequence[str], folder: Path) -> list[Difference]:
    """Compare some variants of a world file with the reference: the first difference of each that differs."""
    trace, module = Trace(text), load(text, folder)
    differences = (run(module.DEFINITION, trace, variant) for variant in variants)
    return [difference for difference in differences if difference is not None]


def main(file: str) -> None:
    """Compare all variants on the CPU with the reference and print the differences; exit with 1 where there are any."""
    text = Path(file).read_text()
    with tempfile.TemporaryDirectory() as folder:
        differences = compare(text, [v for v in VARIANTS if not v.startswith("cuda")], Path(folder))
    for difference in differences:
        print(difference)
    for column in sorted({difference.column for difference in differences}):
        print(f"expected {column} after the last step: {expected_values(Trace(text), column)}")
    print("no difference" if not differences else f"{len(differences)} variants differ")
    sys.exit(1 if differences else 0)
