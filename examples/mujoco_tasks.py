"""Gymnasium's MuJoCo tasks: a linear controller balances a pole in 64 worlds, some of which start far from upright."""

import sys

import numpy as np

import worldloom as wl

try:
    env = wl.make("InvertedPendulum-v5", num_envs=64, seed=0, reset_noise_scale=np.linspace(0.01, 0.2, 64))
except wl.InputError as missing:
    sys.exit(f"no MuJoCo, no robots: {missing}")

observations, _ = env.reset()
print(f"{env.num_envs} poles, up to {np.degrees(np.abs(observations[:, 1]).max()):.0f} degrees from upright")

gains = np.array([0.9, 4.2, 0.8, 1.0])  # of the cart's position, the pole's angle, and their velocities
upright = np.ones(64, dtype=bool)
for _ in range(200):
    actions = np.clip(observations @ gains, -3.0, 3.0).astype(np.float32)
    observations, rewards, terminations, truncations, infos = env.step(actions[:, None])
    upright &= ~terminations
print(f"{upright.sum()} of them stand after 200 steps")

slower = wl.definition("InvertedPendulum-v5", frame_skip=4)
print(f"{slower.id}: {slower.frames_per_second} steps per second instead of {env.metadata['render_fps']}")
