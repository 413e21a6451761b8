"""Worlds of 64-bit numbers whose components are 32-bit numbers on CUDA."""

from dataclasses import replace

import numpy as np
import pytest

import worldloom as wl

HALF = np.float64(0.5)


class Probe(wl.Entity):
    position: wl.Array(wl.float64, 20)
    total: wl.float64
    push: wl.Action(wl.Box(-1.0, 1.0, (3,)))
    seen: wl.Observation(20, dtype=wl.float64)
    reward: wl.Reward(wl.float64)


class Space(wl.World):
    drag: wl.Config = wl.float64(0.1)


@wl.function
def damped(speed: wl.float64, drag: wl.float64) -> wl.float64:
    return speed * (1.0 - drag)


@wl.system
def move(probe: Probe, world: Space):
    total: wl.float64 = 0.0
    for i in range(20):
        probe.position[i] += damped(wl.float64(probe.push[i % 3]), world.drag) * HALF
        total += wl.sqrt(probe.position[i] * probe.position[i] + wl.float64(1e-3))
    probe.total = total
    probe.reward = total


@wl.system
def look(probe: Probe):
    for i in range(20):
        probe.seen[i] = probe.position[i]


WIDE = wl.Definition("Probe-v0", Space, {Probe: 1}, step=(move,), observe=(look,), max_steps=50, cuda_float32=True)


def run(definition: wl.Definition, device: str = "cpu") -> wl.Simulation:
    simulation = wl.Simulation(definition, num_worlds=3, device=device, seed=0)
    generator = np.random.default_rng(0)
    for _ in range(5):
        simulation.step(generator.uniform(-1, 1, (3, 1, 3)).astype(np.float32))
    return simulation


def test_numbers_have_32_bits():
    wide, narrow = run(WIDE), run(WIDE.for_cuda())
    for name in ("position", "total", "seen", "reward"):
        values = getattr(wide[Probe], name).numpy()
        narrow_values = getattr(narrow[Probe], name).numpy()
        assert (values.dtype, narrow_values.dtype) == (np.float64, np.float32)
        np.testing.assert_allclose(narrow_values, values, rtol=1e-5, atol=1e-6)
    assert narrow.definition.observations()["Probe.seen"][1].dtype is wl.float32
    assert narrow.tables["World"]["drag"].array.dtype is wl.float32


def test_a_world_without_the_option_is_unchanged():
    plain = replace(WIDE, cuda_float32=False)
    assert plain.for_cuda() is plain
    assert WIDE.for_cuda().for_cuda().narrow


def test_configuration_can_be_set():
    narrow = wl.Simulation(WIDE.for_cuda(), num_worlds=2, config={"drag": 0.25}, seed=0)
    assert narrow.tables["World"]["drag"].numpy().reshape(-1)[0] == np.float32(0.25)


@pytest.mark.parametrize("exact", [False, True])
def test_exact_worlds_too(exact):
    simulation = wl.Simulation(WIDE.for_cuda(), num_worlds=2, exact=exact, seed=0)
    simulation.step(np.ones((2, 1, 3), np.float32))
    assert simulation[Probe].total.numpy().dtype == np.float32


def test_snapshots_change_their_width():
    wide, narrow = run(WIDE), wl.Simulation(WIDE.for_cuda(), num_worlds=3, seed=9)
    narrow.restore(wide.snapshot())
    np.testing.assert_allclose(narrow[Probe].position.numpy(), wide[Probe].position.numpy(), rtol=1e-6)
    narrow.restore(wide.snapshot(worlds=[2]), worlds=[0])
    assert (narrow[Probe].position.numpy()[0] == wide[Probe].position.numpy()[2].astype(np.float32)).all()
    wide.restore(narrow.snapshot())
    assert (wide[Probe].position.numpy() == narrow[Probe].position.numpy()).all()
