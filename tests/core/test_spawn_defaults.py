"""Spawned entities whose components take their defaults, matrices among them."""

import numpy as np
import pytest

import worldloom as wl


class Source(wl.Entity):
    n: int


class Drop(wl.Entity):
    frame: wl.mat22
    big: wl.mat33
    turn: wl.quat
    speed: wl.vec3 = wl.vec3(1.0, 2.0, 3.0)


class Field(wl.World):
    k: int


@wl.system
def drip(source: Source, world: Field):
    world.spawn(Drop, frame=wl.mat22(1.0, 2.0, 3.0, 4.0))
    world.spawn(Drop)


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_matrices_take_their_defaults(device: str):
    sim = wl.Simulation(
        wl.Definition("Drip-v0", world=Field, entities={Source: 1, Drop: wl.UpTo(3)}, step=[drip]), 1, device
    )
    sim.step()
    frames = sim[Drop].frame.numpy()[0, :2]
    assert np.array_equal(frames, [[[1.0, 2.0], [3.0, 4.0]], [[0.0, 0.0], [0.0, 0.0]]])
    assert np.array_equal(sim[Drop].speed.numpy()[0, 1], [1.0, 2.0, 3.0])
    assert not sim[Drop].big.numpy()[0, :2].any()
