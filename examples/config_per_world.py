"""Change the rules while the worlds run: one value for the batch, or one per world. Nothing is compiled again."""

import numpy as np

import worldloom as wl


def mean_length(sim: wl.Simulation, steps: int = 200) -> np.ndarray:
    """Steps per episode of each world when the cart is always pushed to the right."""
    sim.reset(seeds=0)
    ends = np.zeros(sim.num_worlds)
    for _ in range(steps):
        sim.step(np.ones(sim.num_worlds, np.int32))
        ends += sim.terminated.numpy()
    return steps / np.maximum(ends, 1)


sim = wl.Simulation("CartPole-v1", num_worlds=1000, config={"force": 10.0})
print(f"force 10 N everywhere: {mean_length(sim).mean():.1f} steps per episode")

sim.set_config("force", 2.0)
print(f"force 2 N everywhere: {mean_length(sim).mean():.1f} steps per episode")

force = np.linspace(1.0, 20.0, sim.num_worlds, dtype=np.float32)
sim.set_config("force", force)
length = mean_length(sim)
weak, strong = length[:100].mean(), length[-100:].mean()
print(f"force 1 to 20 N, one per world: {weak:.1f} steps at the weak end, {strong:.1f} at the strong end")

sim.set_config("max_steps", 5)  # the engine's own limit on an episode is configuration too
sim.reset(seeds=0)
for _ in range(5):
    sim.step(np.zeros(sim.num_worlds, np.int32))
print(f"max_steps 5: {int(sim.truncated.numpy().sum())} episodes cut off at step 5")
