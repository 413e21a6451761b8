"""Timing kernels does not change what is timed. No test asks how long anything takes."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.measure.kernel_timer import KernelTimer, PreservedState
from worldloom.core.runtime.variants import LoadedKernel
from worldloom.core.tools.compare import first_difference


@pytest.fixture
def pair() -> tuple[wl.Simulation, wl.Simulation]:
    one, two = (wl.Simulation("CartPole-v1", 32, seed=5, fuse=False) for _ in range(2))
    return one, two


def test_timing_a_kernel_leaves_its_worlds_as_a_step_does(pair: tuple[wl.Simulation, wl.Simulation]) -> None:
    timed, plain = pair
    timer = KernelTimer(timed, timed.executor, max_launches=4)
    for step in range(30):
        for spec in timed.program.step:
            assert len(timer.time_kernel(spec, [None, (timed.executor.kernels[spec.name], 1)])) == 2
        plain.step()
        assert first_difference(plain, timed, step) is None
    assert plain.world.episode.numpy().max() > 0, "resets took part"


def test_slow_kernels_are_not_repeated_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    sim = wl.Simulation("CartPole-v1", 32, seed=0)
    (spec,) = sim.program.step
    for taken, launches in ((1.0, 1), (1e-9, 16), (1e-3, 2)):
        timer = KernelTimer(sim, sim.executor)
        monkeypatch.setattr(timer, "time_run", lambda run, taken=taken: taken)
        assert timer.time_kernel(spec) == [taken / launches] and timer.launches[spec.name, None] == launches


def test_whole_steps_go_on_from_each_other(pair: tuple[wl.Simulation, wl.Simulation]) -> None:
    timed, plain = pair
    nothing: dict[str, LoadedKernel] = {}
    KernelTimer(timed, timed.executor).time_steps(timed.program.step, nothing, 7)
    for _ in range(7):
        plain.step()
    assert first_difference(plain, timed, 7) is None


def test_kept_state_comes_back_with_its_faults() -> None:
    sim, calm = (wl.Simulation("CartPole-v1", 8, seed=0) for _ in range(2))
    bad = np.full((8, 1), 7, np.int32)
    with PreservedState(sim):
        for _ in range(5):
            sim.step(bad)
    assert sim.errors() == [] and sim.pristine
    assert first_difference(calm, sim, 0) is None
    with pytest.raises(ZeroDivisionError), PreservedState(sim):
        sim.step(bad)
        raise ZeroDivisionError
    assert first_difference(calm, sim, 0) is None, "after an error too"
