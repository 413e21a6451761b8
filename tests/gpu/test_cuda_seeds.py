"""Seeds of 64 bits, bounds of random numbers and literals on a GPU: the same numbers as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl

SEEDS = (3, 2**31, 2**32, 2**63, 2**64 - 1, 5 << 40 | 7)


class Purse(wl.World):
    low: wl.Config = -3e38
    high: wl.Config = 3e38
    wide: float
    coins: int
    big: wl.int64
    large: wl.uint64


@wl.system
def draw(world: Purse):
    world.wide = world.random(world.low, world.high)
    world.coins = world.integer(2_000_000_000)
    world.big = world.big + True
    world.large += True
    if world.coins < 200_000_000:
        world.terminate()


PURSES = wl.Definition("Purse-test", Purse, {}, reset=(draw,), step=(draw,), max_steps=5)


def columns(sim: wl.Simulation) -> dict[str, np.ndarray]:
    names = ("wide", "coins", "big", "large", "episode", "step", "seed")
    return {name: sim.world[name].numpy().copy() for name in names}


@pytest.mark.parametrize("exact", [False, True])
def test_seeds_of_64_bits_give_the_numbers_of_the_cpu(exact: bool) -> None:
    seeds = np.array(SEEDS * 4, np.uint64)
    cpu, gpu = (wl.Simulation(PURSES, len(seeds), device, seed=1, exact=exact) for device in ("cpu", "cuda:0"))
    for sim in (cpu, gpu):
        sim.reset(seeds=seeds)
    for _ in range(12):
        for sim in (cpu, gpu):
            sim.step()
        one, other = columns(cpu), columns(gpu)
        for name in one:
            if name == "wide" and not exact:
                np.testing.assert_allclose(other[name], one[name], rtol=1e-5, atol=1e32)
                assert np.isfinite(other[name]).all() and (np.abs(other[name]) <= np.float32(3e38)).all()
            else:
                assert (one[name] == other[name]).all(), name
    assert gpu.seeds.tolist() == seeds.tolist()


def test_graphs_go_on_when_seeds_become_wide() -> None:
    cpu, gpu = (wl.Simulation(PURSES, 6, device, seed=1, exact=True) for device in ("cpu", "cuda:0"))
    for seeds in (4, list(SEEDS), 2**50, 5):
        for sim in (cpu, gpu):
            sim.step()
            sim.reset(seeds=seeds)
            sim.step()
        assert (cpu.world.coins.numpy() == gpu.world.coins.numpy()).all(), seeds
    twin = wl.Simulation(PURSES, 6, "cuda:0", seed=2)
    gpu.reset(seeds=list(SEEDS))
    twin.restore(gpu.snapshot())
    assert twin.seeds.tolist() == list(SEEDS)


def test_the_episode_count_ends_with_a_named_fault() -> None:
    sim = wl.Simulation(PURSES, 3, "cuda:0", seed=1)
    sim.world.episode.assign(np.array([5, 2**31 - 2, 2**31 - 1], np.int32))
    assert [fault.world for fault in sim.errors()] == [1, 2]
    sim.reset()
    assert sim.world.episode.numpy().tolist() == [6, 2**31 - 1, 2**31 - 1]
