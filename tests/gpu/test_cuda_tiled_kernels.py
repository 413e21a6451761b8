"""Systems that run together in one kernel: the bits of the CPU in exact mode."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import worldloom as wl

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))

from test_tiled_kernels import chain, dish

STEPS = 10
COLUMNS = {
    "Chain-test": {"Ring": ("place", "moves"), "Link": ("strain",)},
    "Dish-test": {"Cell": ("level", "kept")},
}


@pytest.mark.parametrize("num_worlds", [1, 37, 300])
@pytest.mark.parametrize(
    "definition",
    [chain(), dish(), dish(cells=120), dish(accumulates=True)],
    ids=["chain", "dish", "more_rows_than_shared_memory", "accumulates"],
)
def test_a_run_has_the_bits_of_the_cpu(definition: wl.Definition, num_worlds: int) -> None:
    cpu, gpu = (wl.Simulation(definition, num_worlds, device, seed=1, exact=True) for device in ("cpu", "cuda:0"))
    for _ in range(STEPS):
        cpu.step()
        gpu.step()
    for table, names in COLUMNS[definition.id].items():
        for name in names:
            one, other = (
                sim[table].rows(name).cpu().numpy() if table == "Link" else getattr(sim[table], name).numpy()
                for sim in (cpu, gpu)
            )
            assert np.array_equal(one, other), name
            assert one.any()
