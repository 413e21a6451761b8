"""Chains: one kernel for a whole step of a small world on CUDA, with the results of one kernel after the other."""

from __future__ import annotations

import numpy as np
import pytest
from cuda_threads import Machine

import worldloom as wl
from worldloom.core import chain
from worldloom.core.compare import first_difference, random_actions
from worldloom.core.kernel_spec import KernelSpec
from worldloom.core.program import generate

WORLD = "TagGridTraining-v0"  # four of one kind and one of another, which look at each other and leave


def specs(sim: wl.Simulation, fuse: bool = True, cuda: bool = True) -> list[KernelSpec]:
    return [spec for spec in generate(sim.schedule, fuse, cuda).step if isinstance(spec, KernelSpec)]


def test_a_step_of_a_small_world_is_one_kernel() -> None:
    sim = wl.Simulation(WORLD, 2, "python", seed=0)
    (whole,) = specs(sim)
    assert (whole.rows, whole.team, whole.worlds) == (4, 64, 16)
    assert sorted(whole.labels) == sorted(label for spec in specs(sim, cuda=False) for label in spec.labels)
    assert all(spec.team == 0 for spec in specs(sim, fuse=False))
    assert whole.is_block and whole.work(33) == 33 and whole.launched(33) == 3 * 64, "three blocks of sixteen worlds"


@pytest.mark.parametrize(("team", "worlds"), [(8, 2), (3, 1)], ids=["two worlds a block", "rows in turns"])
def test_real_threads_do_what_the_cpu_does(team: int, worlds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of several worlds, the last one not full, and blocks of fewer threads than a world has rows; resets come about by tags and by time."""
    monkeypatch.setattr(chain, "TEAMS", {chain.MOST_ROWS: team})
    config = {"grid_length": np.int32([1, 1, 2]), "max_steps": np.int32([9, 2, 3])}
    cpu, machine_side = (wl.Simulation(WORLD, 3, "cpu", seed=5, config=config) for _ in range(2))
    machine = Machine(machine_side)
    (whole,) = machine.program.step
    assert isinstance(whole, KernelSpec) and (whole.team, whole.worlds) == (team, worlds)
    rng = np.random.default_rng(0)
    for step in range(5):
        actions = random_actions(cpu, rng)
        for name, values in actions.items():
            kind, component = name.split(".")
            machine_side[kind][component].assign(values)
        cpu.step(actions)
        machine.step()
        assert first_difference(cpu, machine_side, step) is None
    assert (cpu.world.episode.numpy() > 0).all() and machine.reports == []
