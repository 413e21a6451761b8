"""Literals of every kind beside values of every scalar type: what is accepted compiles, with the interpreter's bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from literal_cases import KINDS, LITERALS, cases, module_text
from test_overloads import load
from thorough import THOROUGH

import worldloom as wl

pytestmark = pytest.mark.usefixtures("quick_compilation")

SAMPLE = [("int64", "True"), ("uint64", "False"), ("float64", "2147483647"), ("float16", "True"), ("uint8", "1")]
PAIRS = [(kind, literal) for kind in KINDS for literal in LITERALS] if THOROUGH else SAMPLE


@pytest.mark.parametrize(("kind", "literal"), PAIRS)
def test_every_accepted_use_of_a_literal_compiles_to_the_same_bits(kind: str, literal: str, tmp_path: Path) -> None:
    """World n runs case n."""
    module = load(module_text(kind, (literal,)), tmp_path, f"literals_{kind}_{LITERALS.index(literal)}")
    texts, worlds = [text for text, _ in cases()], len(cases())
    systems = tuple(system for system, _ in module.SYSTEMS)
    assert len(systems) > 20
    definition = wl.Definition(f"Literals-{kind}-test", module.Rows, {module.Row: 2}, step=systems)
    found: list[dict[str, np.ndarray]] = []
    for device in ("python", "cpu"):
        sim, random = wl.Simulation(definition, worlds, device, seed=0), np.random.default_rng(0)
        for name in ("x", "y", "p"):
            column = sim["Row"][name]
            column.assign(random.integers(0, 2 if column.dtype.kind == "b" else 9, column.shape).astype(column.dtype))
        sim.step()
        found.append({column.name: np.array(column.numpy()) for table in sim.tables.values() for column in table})
    for name, one in found[0].items():
        other = found[1][name]
        if len(one) == worlds:
            same = ((one == other) | ((one != one) & (other != other))).reshape(worlds, -1).all(1)
            wrong = [f"{texts[n]}: {one[n].tolist()} and {other[n].tolist()}" for n in np.flatnonzero(~same)]
            assert not wrong, f"{name} with the literal {literal}: {wrong}"
