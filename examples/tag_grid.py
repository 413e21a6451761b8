"""Tag on a grid: taggers that chase the observed runner against random ones, in hundreds of worlds."""

import numpy as np

import worldloom as wl
from worldloom.envs.tag.grid import DOWN, LEFT, RIGHT, UP, grid_tag

WORLDS = 500
grid_tag("TagExample-v0", taggers=3, runners=5, full_observation=False, grid_length=12)
rng = np.random.default_rng(0)


def at_random(sight: np.ndarray) -> np.ndarray:
    return rng.integers(0, 5, sight.shape[:2], dtype=np.int32)


def towards_the_nearest(sight: np.ndarray) -> np.ndarray:
    """The own position is in columns 0 and 1, that of the nearest runner in 2 and 3."""
    dx, dy = sight[..., 2] - sight[..., 0], sight[..., 3] - sight[..., 1]
    along_x, along_y = np.where(dx > 0, RIGHT, LEFT), np.where(dy > 0, UP, DOWN)
    return np.where(np.abs(dx) > np.abs(dy), along_x, along_y).astype(np.int32)


for policy in (at_random, towards_the_nearest):
    sim = wl.Simulation("TagExample-v0", WORLDS, "cpu", seed=0)
    tags, reward = 0, 0.0
    for _ in range(50):
        sim.step(
            {"Tagger.move": policy(sim["Tagger"].sight.numpy()), "Runner.move": at_random(sim["Runner"].sight.numpy())}
        )
        tags += int(sim["Runner"].terminated.numpy().sum())  # runners leave one by one
        reward += float(sim["Tagger"].reward.numpy().mean())
    print(f"{policy.__name__}: {tags / WORLDS:.1f} runners tagged per world in 50 steps, {reward:.1f} for each tagger")
