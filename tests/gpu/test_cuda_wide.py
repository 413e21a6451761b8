"""Pairs and shared loops on the GPU: the CPU's results bit for bit, as integers decide everything in these worlds."""

from __future__ import annotations

import numpy as np
import pytest
import warp as wp
from wide_worlds import PAIRS, Ball, Robot, Sheep, Table, Wolf, bump, roll, scatter, yard

import worldloom as wl
from worldloom.core.codegen.kernel_spec import KernelSpec
from worldloom.core.kernels.warp_reductions import later_of_pair
from worldloom.core.tools.compare import first_difference


def run_both(definition: wl.Definition, num_worlds: int, steps: int) -> tuple[wl.Simulation, wl.Simulation]:
    cpu, gpu = (wl.Simulation(definition, num_worlds, device, seed=11) for device in ("cpu", "cuda:0"))
    for step in range(steps):
        cpu.step()
        gpu.step()
        found = first_difference(cpu, gpu, step)
        assert found is None, str(found)
    return cpu, gpu


def test_pairs() -> None:
    cpu, _ = run_both(PAIRS, 500, 120)
    assert cpu.world.bumps.numpy().any() and (cpu.world.episode.numpy() > 0).any()
    assert (cpu[Sheep].counts.numpy() > 2).any() and (cpu[Wolf].counts.numpy() > 0).any()


def test_many_pairs_of_few_worlds() -> None:
    """1,024 balls: half a million pairs per world, of which every one is met once."""
    made = wl.Definition("Bump-test", Table, {Ball: 1024}, reset=(scatter,), step=(bump, roll))
    cpu, gpu = run_both(made, 2, 3)
    assert (
        gpu[Ball].touched.numpy().sum(axis=1) == 2 * gpu.world.bumps.numpy()
    ).all() and cpu.world.bumps.numpy().all()


@wp.kernel(enable_backward=False)
def later_of_each(found: wp.array(dtype=wp.int32), first: wp.int32):
    i = wp.tid()
    found[i] = later_of_pair(first + i)


@pytest.mark.parametrize("first", [0, 500_000_000, 1_073_720_970 - 2**22])
def test_the_later_of_a_pair(first: int) -> None:
    found = wp.zeros(2**22, dtype=wp.int32, device="cuda:0")
    wp.launch(later_of_each, 2**22, inputs=[found, first], device="cuda:0")
    later, number = found.numpy().astype(np.int64), first + np.arange(2**22)
    assert ((later * (later - 1) // 2 <= number) & (number < later * (later + 1) // 2)).all()


@pytest.mark.parametrize("threads", [32, 64, 128, 256])
def test_shared_loops(threads: int) -> None:
    cpu, gpu = run_both(yard(threads), 1000, 60)
    assert cpu.errors() == gpu.errors() == []
    assert cpu.world.hits.numpy().any() and (cpu.world.episode.numpy() > 0).any()
    parts = [part for spec in gpu.program.step if isinstance(spec, KernelSpec) for part in spec.parts]
    assert [part.threads for part in parts if part.labels == ("look(Robot)",)] == [threads]


def test_one_thread_and_many_are_the_same_on_the_gpu() -> None:
    one, many = (wl.Simulation(yard(threads, robots=3), 300, "cuda:0", seed=2) for threads in (1, 32))
    for step in range(40):
        one.step()
        many.step()
        found = first_difference(one, many, step)
        assert found is None, str(found)


def test_faults_are_told_once() -> None:
    cpu, gpu = (wl.Simulation(yard(64, faulty=True), 10, device, seed=3) for device in ("cpu", "cuda:0"))
    fault_count = 0
    for _ in range(7):
        cpu.step()
        gpu.step()
        expected, found = ([(f.world, f.episode, f.step, f.message) for f in sim.errors()] for sim in (cpu, gpu))
        assert sorted(found) == sorted(expected)
        fault_count += len(found)
    assert fault_count > 0 and (gpu[Robot].age.numpy() >= 0).all()
