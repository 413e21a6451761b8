"""Large populations on CUDA, whose spawned entities several kernels sort: the rows and the bits of the CPU."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.measure.timing import time_systems
from worldloom.core.model.population import LARGE
from worldloom.core.tools.compare import first_difference

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))

from crowded_worlds import Flash, Grain, heap

ROOM = 5 * LARGE
GRAINS = np.array([6000, 0, 300], np.int32)


def simulations(overflow: str = "error", room: int = ROOM) -> list[wl.Simulation]:
    definition, config = heap(room, overflow), {"grains": GRAINS}
    return [
        wl.Simulation(definition, len(GRAINS), device, seed=3, exact=True, config=config)
        for device in ("cpu", "cuda:0")
    ]


def step(sims: list[wl.Simulation], commands: np.ndarray, number: int) -> None:
    for sim in sims:
        sim[Grain].command.assign(commands.astype(np.int32))
        sim.step()
    found = first_difference(*sims, number)
    assert found is None, str(found)


def test_spawns_and_despawns_as_on_the_cpu() -> None:
    """Everything at once, only spawns, only despawns, nothing, and an exchange of all entities."""
    cpu, gpu = sims = simulations()
    kernels = [s for s in gpu.program.step if isinstance(s, KernelSpec) and s.labels == ("compact Grain",)]
    assert len(kernels) > 5, "the population is not large"
    rng = np.random.default_rng(4)
    likely = (
        (0.3, 0.3, 0.02, 0.5),
        (0.0, 0.4, 0.0, 1.0),
        (0.4, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0),
        (1.0, 1.0, 0.0, 0.2),
    )
    for number, chances in enumerate(likely * 3):
        bits = [np.where(rng.random((len(GRAINS), ROOM)) < chance, 1 << k, 0) for k, chance in enumerate(chances)]
        step(sims, sum(bits), number)
    counts = cpu[Grain].counts.numpy()
    assert counts[0] > 2048 and counts[1] == 0 and cpu[Flash].counts.numpy()[0] > 256


def test_steps_after_the_kernels_were_timed() -> None:
    """Kernels run repeatedly, and leave nothing behind that the next step uses."""
    sims = simulations()
    commands = np.full((len(GRAINS), ROOM), 3)
    commands[:, ::3] = 10
    step(sims, commands, 0)
    time_systems(sims[1], rounds=2)
    for number in (1, 2):
        step(sims, commands, number)


@pytest.mark.parametrize("overflow", ["reset", "drop"])
def test_what_does_not_fit_is_the_same(overflow: str) -> None:
    """Half of the spawned entities do not fit into the first world, after some have left."""
    cpu, gpu = sims = simulations(overflow, room=7000)
    commands = np.zeros((len(GRAINS), 7000))
    commands[:, :4000] = 2
    commands[:, 100:1100] += 1
    step(sims, commands, 0)
    dropped = [sim[Grain].dropped.numpy().tolist() for sim in sims]
    assert dropped[0] == dropped[1] == [2000, 0, 0]
    faults = [[(f.world, f.step, f.message) for f in sim.errors()] for sim in sims]
    assert faults[0] == faults[1] and len(faults[0]) == (overflow == "reset")
    assert cpu[Grain].counts.numpy().tolist() == gpu[Grain].counts.numpy().tolist()
