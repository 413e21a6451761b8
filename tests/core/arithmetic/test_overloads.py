"""Every function, of every type: the interpreter computes the bits of compiled code.

``make test-thorough`` compares all overloads, ``make test`` a sample.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import warp as wp
from overloads import WHOLE, Call, calls, inputs, source, types_of
from thorough import THOROUGH

import worldloom as wl
from worldloom.core.arithmetic.functions import NAMES
from worldloom.core.kernels import exact
from worldloom.core.model.dtypes import FLOATS

WORLDS = 48
TYPES = [*FLOATS, *WHOLE]
COMPARED = TYPES if THOROUGH else [wp.float32, wp.int32]
"""``make test-thorough`` compares all types. ``test_integers.py`` has the narrow integers."""
EXACT_CALLS = {name for name in exact.COMPILED if name in NAMES}
"""Functions with a version of their own in exact mode."""


def load(text: str, folder: Path, name: str) -> ModuleType:
    file = folder / f"{name}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def bits(values: np.ndarray) -> np.ndarray:
    """Values as integers; all NaNs are alike."""
    if values.dtype.kind != "f":
        return values
    return np.where(np.isnan(values), np.array(np.nan, values.dtype), values).view(f"u{values.dtype.itemsize}")


def compare(scalar: type, folder: Path, keep: Callable[[Call], bool] = lambda call: True, exact: bool = False) -> None:
    module = load(source(scalar, keep), folder, f"overloads_{scalar.__name__}_{exact}")
    chosen = [call for call in calls(scalar) if keep(call)]
    random = np.random.default_rng(7)
    runs = [
        wl.Simulation(module.DEFINITION, WORLDS, device, seed=1, exact=exact, fuse=scalar not in FLOATS)
        for device in ("python", "cpu")
    ]
    for name in types_of(scalar):
        for place in range(3):
            values = inputs(scalar, runs[0].tables["Case"][f"{name}_{place}"].shape, random)
            for sim in runs:
                sim.tables["Case"][f"{name}_{place}"].assign(values)
    for sim in runs:
        sim.step()
    wrong = []
    for number, call in enumerate(chosen):
        interpreted, compiled = (sim.tables["Case"][f"out{number}"].numpy() for sim in runs)
        differs = (bits(interpreted) != bits(compiled)).reshape(WORLDS, -1).any(axis=1)
        if differs.any():
            world = int(differs.argmax())
            wrong.append(
                f"{call.text}: {interpreted[world].tolist()} interpreted, {compiled[world].tolist()} compiled,"
                f" in {differs.sum()} of {WORLDS} worlds"
            )
    assert not wrong, "\n".join(wrong)


def kept(scalar: type) -> set[str]:
    """The calls that are compared: one of every function.

    Which one depends on the type, so that the types together cover more shapes. The overloads of a function are one
    template over the scalar type.
    """
    if THOROUGH:
        return {call.text for call in calls(scalar)}
    by_name: dict[str, list[str]] = {}
    for call in calls(scalar):
        by_name.setdefault(call.name, []).append(call.text)
    turn = TYPES.index(scalar)
    return {texts[turn % len(texts)] for texts in by_name.values()}


@pytest.mark.parametrize("scalar", COMPARED, ids=lambda kind: kind.__name__)
def test_interpreted_as_compiled(scalar: type, tmp_path: Path) -> None:
    texts = kept(scalar)
    compare(scalar, tmp_path, lambda call: call.text in texts)


def test_interpreted_as_compiled_in_exact_mode(tmp_path: Path) -> None:
    """The calls that exact mode replaces; all others have the same code in both modes."""
    assert EXACT_CALLS.issubset(call.name for call in calls(wp.float32))
    compare(wp.float32, tmp_path, lambda call: call.name in EXACT_CALLS, exact=True)
