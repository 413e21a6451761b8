"""Search by copies: one world is copied onto many that act at random, and the best first action wins; then a replay."""

import tempfile
from pathlib import Path

import numpy as np

import worldloom as wl

DREAMS, DEPTH, STEPS = 256, 25, 150

sim = wl.Simulation("CartPole-v1", num_worlds=1 + DREAMS, seed=0, autoreset="disabled")
dreams = np.arange(1, 1 + DREAMS)  # world 0 is the real one
rng = np.random.default_rng(0)


def best_action() -> int:
    """The first action after which a pole stands longest, over random futures."""
    real = sim.snapshot(worlds=[0])
    sim.copy_worlds(0, dreams)
    standing, lasted = np.ones(DREAMS, bool), np.zeros(DREAMS)
    for depth in range(DEPTH):
        actions = rng.integers(0, 2, (1 + DREAMS, 1), dtype=np.int32)
        if depth == 0:
            first = actions[1:, 0].copy()
        sim.step(actions)
        standing &= ~sim.terminated.numpy()[1:]
        lasted += standing
    sim.restore(real, worlds=[0])  # restore it: the search stepped it too
    return int(lasted[first == 1].mean() > lasted[first == 0].mean())


played = []
for _ in range(STEPS):
    played.append(best_action())
    sim.step(np.full((1 + DREAMS, 1), played[-1], np.int32))
    if sim.terminated.numpy()[0]:
        break
print(f"search: the pole stood for {len(played)} steps")

# The same world alone: recorded, saved to a file and replayed where breakpoints work.
alone = wl.Simulation("CartPole-v1", num_worlds=1, seed=0)
with alone.record() as recorder:
    for action in played:
        alone.step(np.array([[action]], np.int32))
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "found.safetensors"
    recorder.log.save(path)
    log = wl.ReplayLog.load(path)
    angles = [float(again["Cart"].angle.numpy()[0, 0]) for again in log.replay(world=0, episode=0, device="python")]
    print(f"played again in Python: {len(angles)} steps, never beyond {max(map(abs, angles)):.2f} rad")

    alone.snapshot().save(Path(folder) / "end.safetensors")
    other = wl.Simulation("CartPole-v1", num_worlds=1, seed=123)
    other.restore(wl.Snapshot.load(Path(folder) / "end.safetensors"))
print("went on from a file:", np.array_equal(other["Cart"].sight.numpy(), alone["Cart"].sight.numpy()))
