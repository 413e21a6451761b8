"""The terrain of the quadruped's escape: the formula of dm_control, and other bumps in each world and episode."""

import numpy as np
from scipy import ndimage

import worldloom as wl


def terrain(bumps):
    """A bowl with bumps, shape (201, 201), as dm_control computes it."""
    rows, columns = np.ogrid[-1 : 1 : 201 * 1j, -1 : 1 : 201 * 1j]
    radius = np.clip(np.sqrt(columns**2 + rows**2), 0.04, 1.0)
    return (0.5 - np.cos(2 * np.pi * radius) / 2) * ndimage.zoom(bumps, 201 / bumps.shape[0])


def test_the_terrain_is_a_bowl_with_bumps():
    simulation = wl.Simulation("QuadrupedEscape-v1", num_worlds=2, seed=0)
    robot = simulation["Quadruped"]
    episodes = []
    for _ in range(2):
        bumps = robot.bumps.numpy().reshape(2, 30, 30).copy()
        heights = robot.hfield_data.numpy().reshape(2, 201, 201)
        for world in range(2):
            np.testing.assert_allclose(heights[world], terrain(bumps[world]), atol=1e-6)
        episodes.append(bumps)
        simulation.reset()
    drawn = np.array(episodes).reshape(4, -1)
    assert len(np.unique(drawn, axis=0)) == 4, "every world and episode has its own bumps"
    assert drawn.min() >= 0.15 and drawn.max() <= 1.0
    assert abs(drawn.mean() - 0.575) < 5 * 0.85 / np.sqrt(12 * drawn.size)
