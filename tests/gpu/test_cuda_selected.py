"""Systems for some entities and systems over the world with several threads: the same results as on the CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import worldloom as wl

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))

from acting_worlds import acting_world, columns, invalid_actions
from jumping_worlds import JUMPING, results
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


@pytest.mark.parametrize("autoreset", ["disabled", "same_step"])
@pytest.mark.parametrize("together", [False, True])
def test_invalid_actions_are_choice_0(together: bool, autoreset: str) -> None:
    cpu, gpu = (wl.Simulation(acting_world(together), 300, d, seed=0, autoreset=autoreset) for d in ("cpu", "cuda:0"))
    for step in range(5):
        for sim in (cpu, gpu):
            sim.step(invalid_actions(step, 300))
        assert columns(gpu) == columns(cpu)


@pytest.mark.parametrize("definition", JUMPING, ids=lambda definition: definition.id)
def test_worlds_of_a_warp_leave_loops_alone(definition: wl.Definition) -> None:
    cpu, gpu = (wl.Simulation(definition, 67, device, seed=0) for device in ("cpu", "cuda:0"))
    for _ in range(3):
        cpu.step()
        gpu.step()
        assert results(gpu) == results(cpu)
