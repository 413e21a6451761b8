"""Comparing: a world file on the reference and on devices, every column after every step."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import itertools
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import warp as wp

from worldloom.testing.reference import Reference
from worldloom.testing.types import FLOATS, Component
from worldloom.testing.values import action_values, column_values

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
}
"""The ways to run a world that are compared with the reference: arguments of ``wl.Simulation``."""

ROUGH_TOLERANCE = 2e-5
"""How far elementary functions may lie from the reference, relative to 1 and to their result."""

SMOOTH_TOLERANCE = 1e-4
"""How far the numbers of a smooth world may lie apart on a GPU in fast mode, which fuses multiplications with additions; relative."""

_LOADED = itertools.count()


@dataclass(frozen=True)
class Difference:
    """The first number in which a device differs from the reference.

    Attributes:
        variant: Which of :data:`VARIANTS`.
        column: The column, as ``Table.name``.
        world: The world.
        place: The entity, and the element of its component.
        step: The step after which it was seen, from 1; 0 is the state after the reset.
        expected: The number on the reference.
        found: The number on the device.
        others: How many other columns differ after the same step.
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
    """How a world file is run: its ``RUN``."""

    num_worlds: int = 4
    steps: int = 3
    seed: int = 0
    autoreset: str = "disabled"
    fill: int | None = 0
    mode: str = "any"
    resets: tuple[int, ...] = ()

    @staticmethod
    def of(text: str) -> Settings:
        """The settings that a world file holds."""
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
    """What the reference says of a world file: the values put in from outside, and every column after every step.

    Args:
        text: The world file.
    """

    def __init__(self, text: str) -> None:
        self.settings = settings = Settings.of(text)
        self.reference = reference = Reference(text, settings.num_worlds, settings.seed, settings.autoreset)
        self.filled: dict[tuple[str, str], Any] = {}
        self.actions: list[dict[tuple[str, str], Any]] = []
        self.states: list[dict[tuple[str, str], Any]] = []
        if settings.fill is not None:
            for kind in reference.kinds.values():
                for component in kind.fields.values():
                    if component.role in ("state", "persistent", "config"):
                        values = column_values(
                            kind, component, settings.num_worlds, settings.fill, settings.mode, reference.kinds
                        )
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
        """The worlds that are reset from outside before a step."""
        return np.arange(self.settings.num_worlds) % 2 == step % 2

    def _columns(self) -> dict[tuple[str, str], Any]:
        state = self.reference.state
        found = {
            (kind, name): values.copy() for kind, columns in state.tables.items() for name, values in columns.items()
        }
        found.update({("World", name): state.flags[name][:, None].copy() for name in ("terminated", "truncated")})
        found.update({("World", f"{kind}__count"): counts[:, None].copy() for kind, counts in state.counts.items()})
        found.update({("World", f"{kind}__dropped"): counts[:, None].copy() for kind, counts in state.dropped.items()})
        return found

    def component(self, kind: str, name: str) -> Component | None:
        return self.reference.kinds[kind].fields.get(name)

    def fitted(self, step: int) -> Any:
        """The worlds in which everybody that was spawned so far found room, shape (num_worlds,)."""
        lost = [
            values[:, 0] > 0
            for state in self.states[: step + 1]
            for (_, name), values in state.items()
            if name.endswith("__dropped")
        ]
        return ~np.any(lost, axis=0) if lost else np.ones(self.settings.num_worlds, bool)

    def held(self, kind: str, step: int) -> Any:
        """Which rows of a table hold an entity after a step, shape (num_worlds, rows)."""
        known = self.reference.kinds[kind]
        rows = np.arange(known.rows)[None, :]
        return (
            rows < self.states[step]["World", f"{kind}__count"]
            if known.varies
            else np.ones((self.settings.num_worlds, known.rows), bool)
        )


def expected_values(trace: Trace, column: str) -> Any:
    """What the reference gives for a column, ``Kind.name``, after the last step: lists, with text for what is no finite number."""
    kind, name = column.split(".")

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(item) for item in value]
        return str(value) if isinstance(value, float) and not np.isfinite(value) else value

    return plain(trace.states[-1][kind, name].tolist())


def run(definition: Any, trace: Trace, variant: str) -> Difference | None:
    """Run a world on one device, step by step beside what the reference said; the first difference, or None."""
    import worldloom as wl

    settings = trace.settings
    with wl.Simulation(
        definition, settings.num_worlds, seed=settings.seed, autoreset=settings.autoreset, **VARIANTS[variant]
    ) as simulation:  # type: ignore[arg-type]
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
            with contextlib.suppress(wl.CapacityError):  # what did not fit is counted, and compared below
                simulation.step(actions or None)
                if simulation.device.is_cuda:  # it is known when the step is over
                    wp.synchronize_device(simulation.device)
                    simulation.check_capacity()
            found = compare_state(simulation, trace, step, variant)
            if found is not None:
                return found
    return None


def compare_state(simulation: Any, trace: Trace, step: int, variant: str) -> Difference | None:
    """The first difference between a simulation and the reference after a step."""
    wrong: list[tuple[str, tuple[int, ...], Any, Any]] = []
    for (kind, name), expected in trace.states[step].items():
        column = simulation.tables[kind].columns.get(name)
        if column is None or column.field.role.value == "config":
            continue
        found = _read(simulation, trace, kind, name, expected.shape)
        different = ~_same(expected, found, *_tolerance(trace, kind, name, variant))
        different &= trace.held(kind, step).reshape(different.shape[:2] + (1,) * (different.ndim - 2))
        if variant.startswith("cuda"):  # which of too many find room is not fixed on a GPU
            different &= trace.fitted(step).reshape((-1,) + (1,) * (different.ndim - 1))
        if different.any():
            place = tuple(int(i) for i in np.argwhere(different)[0])
            wrong.append((f"{kind}.{name}", place, expected[place].item(), found[place].item()))
    if not wrong:
        return None
    column_name, place, expected, found = wrong[0]
    return Difference(variant, column_name, place[0], place[1:], step + 1, expected, found, len(wrong) - 1)


def _assign(simulation: Any, trace: Trace, kind: str, name: str, values: Any) -> None:
    """Put values into a column; where its rows are those of the whole batch, only into those that hold an entity."""
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
    found, start = np.zeros(shape, values.dtype), 0
    for world, count in enumerate(simulation.tables["World"][f"{kind}__count"].numpy()):
        found[world, :count] = values[start : start + count]
        start += count
    return found


def _tolerance(trace: Trace, kind: str, name: str, variant: str) -> tuple[float, bool]:
    """How far numbers of a column may lie apart, and whether the sign of 0 counts."""
    if name.startswith("rough"):
        return ROUGH_TOLERANCE, False
    fast_gpu = variant.startswith("cuda") and "exact" not in variant
    return (SMOOTH_TOLERANCE if fast_gpu and trace.settings.mode == "smooth" else 0.0), trace.settings.mode == "any"


def _same(expected: Any, found: Any, tolerance: float, signs: bool) -> Any:
    """Where two arrays are equal: to the bit, but for the bits of NaN, or within a tolerance."""
    if expected.dtype.name not in FLOATS:
        return expected == found
    with np.errstate(all="ignore"):
        equal = (expected == found) | (np.isnan(expected) & np.isnan(found))
        if signs:
            equal &= (np.signbit(expected) == np.signbit(found)) | np.isnan(expected)
        if tolerance:
            equal |= np.abs(expected - found) <= tolerance * np.maximum(1.0, np.abs(expected))
            huge = np.finfo(expected.dtype).max * (1 - 1e-5)
            equal |= (np.abs(expected) >= huge) & (np.abs(found) >= huge) & (np.sign(expected) == np.sign(found))
    return equal


def compare(text: str, variants: Sequence[str], folder: Path) -> list[Difference]:
    """Compare a world file on the reference and on some variants: the first difference of each that differs."""
    trace, module = Trace(text), load(text, folder)
    return [found for variant in variants if (found := run(module.DEFINITION, trace, variant)) is not None]


def main(file: str) -> None:
    """Run a world file on the reference and on every variant of the CPU, and print what differs; exit with 1 where something does."""
    import tempfile

    text = Path(file).read_text()
    with tempfile.TemporaryDirectory() as folder:
        found = compare(text, [v for v in VARIANTS if not v.startswith("cuda")], Path(folder))
    for difference in found:
        print(difference)
    for column in sorted({difference.column for difference in found}):
        print(f"expected {column} after the last step: {expected_values(Trace(text), column)}")
    print("no difference" if not found else f"{len(found)} variants differ")
    sys.exit(1 if found else 0)
