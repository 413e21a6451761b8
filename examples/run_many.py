"""Run thousands of worlds: pass actions, step, and read observations, rewards and flags."""

import numpy as np

import worldloom as wl
from worldloom.envs.cartpole import Cart

sim = wl.Simulation("CartPole-v1", num_worlds=4096, device="cpu", seed=0)
episodes, reward = 0, 0.0
for _ in range(300):
    sight = sim[Cart].sight.numpy()  # (4096, 1, 4), the column's own memory
    push = (sight[..., 2] + sight[..., 3] > 0).astype(np.int32)  # push towards where the pole falls
    sim.step(push)
    reward += float(sim[Cart].reward.numpy().sum())
    episodes += int((sim.terminated.numpy() | sim.truncated.numpy()).sum())

print(
    f"{sim.num_worlds} worlds, {reward:.0f} steps rewarded, {episodes} episodes ended, "
    f"{sim.bytes_per_world} bytes per world"
)
