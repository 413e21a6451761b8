"""Atari 2600: a batch of Pong, two games in one batch, RGB frames, settings per world, and four players."""

import sys

import numpy as np

import worldloom as wl

try:
    env = wl.make("Pong-v5", num_envs=8, seed=0)
except wl.InputError as missing:
    sys.exit(f"no ROMs, no games: {missing}")

seen, infos = env.reset()
before = infos["frames"]
print(
    f"{env.num_envs} x Pong: {seen.shape[1:]} {seen.dtype}, {env.single_action_space.n} actions, "
    f"{before.min()} to {before.max()} frames before"
)

rng, points = np.random.default_rng(0), 0
for _ in range(100):
    seen, rewards, terminations, truncations, infos = env.step(rng.integers(0, 6, env.num_envs))
    points += int(rewards.sum())
print(f"400 frames at random: {-points} points lost in 8 games")

both = wl.Simulation(wl.definition("Pong-v5+Breakout-v5", obs_type="ram"), num_worlds=4, seed=0)
both.step(np.ones((4, 1), np.int32))
print(f"lives in Pong and Breakout: {both['Console'].lives.numpy().ravel().tolist()}")

picture = env.simulation.definition.render(env.simulation, 0)
print(f"on the television: {picture.shape}, {len(np.unique(picture.reshape(-1, 3), axis=0))} colours")

uneven = wl.make(
    "Breakout-v5", num_envs=2, device="python", obs_type="ram", noop_max=1, max_episode_steps=[3, 5], seed=0
)
uneven.reset()
ends = np.array([uneven.step(np.zeros(2, np.int64))[3] for _ in range(5)])
print(f"first episodes end after {(ends.argmax(axis=0) + 1).tolist()} steps")

four = wl.Simulation(
    wl.definition("Quadrapong-v5", obs_type="ram", noop_max=1, television="pal"), num_worlds=2, device="python", seed=0
)
players = [kind for kind in four.definition.rows if kind != "Console"]
four.step({f"{kind}.stick": rng.integers(0, four[kind].stick.field.space.n, (2, 1), np.int32) for kind in players})
print(f"{', '.join(players)} were paid {[int(four[kind].reward.numpy().sum()) for kind in players]}")
print(f"their ground, on a television of Europe: {four.definition.render(four, 0)[100, 80].tolist()}")
