"""Exact mode on the GPU: the bits of the CPU, of every function and of whole worlds, however long they run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from exact_probe import FUNCTIONS, PROBE, arguments, kernels, run, same_bits

import worldloom as wl
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.registry import registry
from worldloom.core.registry.world_files import find
from worldloom.core.tools.compare import compare, first_difference

FLOCK = Path(__file__).parents[2] / "examples" / "write_a_world.py"


@pytest.fixture(scope="module")
def compiled():
    return kernels()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_million_arguments(compiled, name: str) -> None:
    given = arguments(name, 1_000_000, seed=2)
    cpu, gpu = (run(compiled[name], given, device) for device in ("cpu", "cuda:0"))
    wrong = ~same_bits(cpu, gpu)
    first = tuple(float(a[wrong][0]) for a in given) if wrong.any() else ()
    assert not wrong.any(), f"{wrong.sum()} differ, first {name}{first}: {cpu[wrong][0]!r} and {gpu[wrong][0]!r}"


def run_long(definition: wl.Definition, steps: int = 1_000, num_worlds: int = 4_096) -> None:
    """Two simulations with the same actions, never brought together; columns compared every 100 steps."""
    with (
        wl.Simulation(definition, num_worlds, "cpu", seed=11, exact=True) as cpu,
        wl.Simulation(definition, num_worlds, "cuda:0", seed=11, exact=True) as gpu,
    ):
        assert first_difference(cpu, gpu, 0) is None
        rng = np.random.default_rng(4)
        for step in range(1, steps + 1):
            actions = random_actions(cpu, rng) or None
            cpu.step(actions)
            gpu.step(actions)
            if step % 100 == 0:
                found = first_difference(cpu, gpu, step)
                assert found is None, str(found)
        assert (cpu.world.episode.numpy() > 0).all(), "some world was never reset"


@pytest.mark.parametrize("world", ["CartPole-v1", "Pendulum-v1", "Acrobot-v1"])
def test_worlds_stay_equal_to_the_bit(world: str) -> None:
    run_long(wl.definition(world))


def test_wolves_and_sheep_stay_equal_to_the_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    run_long(find(str(FLOCK)))


@pytest.mark.parametrize("name", ["predator_prey", "bullets"])
def test_worlds_whose_entities_come_and_go_stay_equal_to_the_bit(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    run_long(find(str(FLOCK.with_name(f"{name}.py"))))


@pytest.mark.parametrize("fuse", [True, False], ids=["fused", "unfused"])
def test_all_that_can_differ(fuse: bool) -> None:
    """Sums of real numbers into other rows and the world, rotations, matrices, normal random numbers."""
    sims = [wl.Simulation(PROBE, 512, device, seed=5, fuse=fuse, exact=True) for device in ("cpu", "cuda:0")]
    for step in range(1, 101):
        for sim in sims:
            sim.step()
        found = first_difference(*sims, step)
        assert found is None, str(found)


def test_check_holds_the_gpu_to_the_bit(crowd: wl.Definition) -> None:
    assert compare(crowd, ("python", "cpu", "cuda:0"), num_worlds=16, steps=60, exact=True) is None
