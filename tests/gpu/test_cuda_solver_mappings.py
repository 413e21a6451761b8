"""Both solvers of contacts on a GPU: the bits of the CPU in exact mode, and close to each other without it."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import worldloom as wl

sys.path.insert(0, str(Path(__file__).parents[1] / "physics"))

from test_solver_mappings import COLUMNS, shop

WORLDS = 70
STEPS = 30


def run(device: str, mapping: str, exact: bool) -> wl.Simulation:
    numbers = np.arange(WORLDS)
    config = {"substeps": np.where(numbers % 7 == 3, 3, 4).astype(np.int32), "crowded": numbers % 7 == 4}
    simulation = wl.Simulation(shop(mapping), WORLDS, device, seed=4, config=config, exact=exact)
    for _ in range(STEPS):
        simulation.step()
    return simulation


def rows(simulation: wl.Simulation) -> dict[str, np.ndarray]:
    return {
        f"{table}.{name}": simulation[table].rows(name).cpu().numpy()
        for table, names in COLUMNS.items()
        for name in names
    }


@pytest.mark.parametrize("mapping", ["worlds", "colours"])
def test_exact_mode_gives_the_bits_of_the_cpu(mapping: str) -> None:
    expected, found = rows(run("cpu", "worlds", True)), rows(run("cuda:0", mapping, True))
    for name, values in expected.items():
        assert np.array_equal(values, found[name]), name


def test_both_solvers_agree_without_exact_mode() -> None:
    one, other = (run("cuda:0", mapping, False) for mapping in ("worlds", "colours"))
    assert other.world.by_colour.numpy().sum() == np.count_nonzero(~np.isin(np.arange(WORLDS) % 7, (3, 4)))
    positions = [simulation["Block"].rows("position").cpu().numpy() for simulation in (one, other)]
    assert np.abs(positions[0] - positions[1]).max() < 0.05
