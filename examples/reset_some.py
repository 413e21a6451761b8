"""Reset some worlds without a step: by mask, and with seeds that repeat an episode."""

import numpy as np

import worldloom as wl
from worldloom.envs.cartpole import Cart

sim = wl.Simulation("CartPole-v1", num_worlds=6, seed=7)
start = sim[Cart].x.numpy().copy()
for _ in range(5):
    sim.step(np.ones(6, np.int32))

mask = np.array([True, True, False, False, False, False])
before = sim[Cart].x.numpy().copy()
sim.reset(mask)
print("steps after the reset:", sim.world.step.numpy())
print("episodes:", sim.world.episode.numpy())
print("others untouched:", bool((sim[Cart].x.numpy()[2:] == before[2:]).all()))
print("a new start:", bool((sim[Cart].x.numpy()[:2] != start[:2]).all()))

sim.reset(mask, seeds=7)
print("seed 7 again gives the first start again:", bool((sim[Cart].x.numpy()[:2] == start[:2]).all()))

sim.reset(seeds=np.arange(6))  # a seed per world
print("seeds:", sim.seeds)
