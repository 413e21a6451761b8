"""Rotations by large and small angles."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.physics.motion import small_rotation


class Top(wl.Entity):
    half: wl.vec3
    rotation: wl.quat


class Table(wl.World):
    pass


@wl.system
def spin(top: Top):
    top.rotation = small_rotation(top.half)


TABLE = wl.Definition("Top-test", Table, {Top: 1}, reset=(), step=(spin,))


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_rotations_of_all_angles_are_exact(device: str) -> None:
    """Against sine and cosine in float64, from 1e-4 to 60 rad."""
    generator = np.random.default_rng(0)
    angles = np.geomspace(1e-4, 60.0, 40)
    axes = generator.normal(size=(40, 3))
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    sim = wl.Simulation(TABLE, 40, device, seed=0)
    sim[Top].half = (0.5 * angles[:, None] * axes).astype(np.float32)[:, None]
    sim.step()
    expected = np.concatenate([axes * np.sin(angles / 2)[:, None], np.cos(angles / 2)[:, None]], axis=1)
    error = np.abs(sim[Top].rotation.numpy().reshape(40, 4) - expected).max(axis=1)
    assert (error < 4e-7 * np.maximum(angles / 0.2, 1.0)).all()
