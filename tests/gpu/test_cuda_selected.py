"""Systems for some entities and systems over the world with several threads: the same results as on the CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import worldloom as wl

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))

from selected_worlds import GARDEN


@pytest.mark.parametrize("num_worlds", [1, 7, 300])
def test_rows_are_gathered_and_worlds_shared(num_worlds: int) -> None:
    cpu, gpu = (wl.Simulation(GARDEN, num_worlds, device, seed=1) for device in ("cpu", "cuda:0"))
    for _ in range(10):
        cpu.step()
        gpu.step()
    for table, names in {"Seed": ("value", "visits", "colour"), "Sprout": ("origin", "height")}.items():
        for name in names:
            assert np.array_equal(cpu[table].rows(name).numpy(), gpu[table].rows(name).cpu().numpy()), name
    assert np.array_equal(cpu["Cup"].level.numpy(), gpu["Cup"].level.numpy())
