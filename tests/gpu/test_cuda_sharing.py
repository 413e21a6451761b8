"""Observations in the memory of their components: the same worlds, with and without."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl


@pytest.mark.parametrize("world", ["CartPole-v1", "MountainCar-v0"])
@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
@pytest.mark.parametrize("fuse", [True, False])
def test_sharing_changes_no_bit(world, autoreset, fuse):
    sims = [
        wl.Simulation(world, 300, "cuda:0", seed=3, autoreset=autoreset, fuse=fuse, share=share, exact=True)
        for share in (True, False)
    ]
    generator = np.random.default_rng(0)
    for _ in range(60):
        actions = generator.integers(0, 2, (300, 1)).astype(np.int32)
        for sim in sims:
            sim.step(actions)
        for table in sims[0].tables.values():
            for column in table:
                assert np.array_equal(
                    column.numpy(), sims[1].tables[table.table_name][column.field.name].numpy(), equal_nan=True
                ), column.name


def test_columns_within_another_are_read_and_written_like_any():
    sim = wl.Simulation("CartPole-v1", 10, "cuda:0", seed=0)
    cart = sim["Cart"]
    assert cart.x.view_of is not None and cart.x.shape == (10, 1)
    assert np.array_equal(cart.x.numpy()[:, 0], cart.sight.numpy()[:, 0, 0])
    cart.x = np.linspace(0.0, 1.0, 10, dtype=np.float32)[:, None]
    cart.angle = 0.125
    assert (
        np.allclose(cart.sight.numpy()[:, 0, 0], np.linspace(0.0, 1.0, 10))
        and (cart.sight.torch()[..., 2] == 0.125).all()
    )
    kept = sim.snapshot()
    sim.step(np.ones((10, 1), np.int32))
    after = cart.sight.numpy().copy()
    sim.restore(kept)
    assert (cart.angle.numpy() == 0.125).all()
    sim.step(np.ones((10, 1), np.int32))
    assert np.array_equal(cart.sight.numpy(), after)
    sim.copy_worlds(3, [0, 1])
    assert (cart.velocity.numpy()[:2] == cart.velocity.numpy()[3]).all()
    assert sim.bytes_per_world < wl.Simulation("CartPole-v1", 10, "cuda:0", seed=0, share=False).bytes_per_world
    sim.profile(5)
    assert np.isfinite(cart.sight.numpy()).all()


def test_an_environment_keeps_what_it_hands_out_apart():
    envs = wl.make("CartPole-v1", num_envs=4, device="cuda:0", env_type="torch")
    observations, _ = envs.reset(seed=0)
    before = envs.simulation["Cart"].x.torch().clone()
    observations.mul_(0.0)
    assert (envs.simulation["Cart"].x.torch() == before).all()
