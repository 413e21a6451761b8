"""An asynchronous pool: some worlds step on other threads while the learner processes those that have returned."""

import numpy as np

import worldloom as wl

with wl.make("CartPole-v1", num_envs=1024, batch_size=256, seed=0) as pool:
    pool.async_reset()
    steps, episodes = np.zeros(1024, int), 0
    for _ in range(4 * 50):
        observations, rewards, terminations, truncations, infos = pool.recv()  # the first 256 finished worlds
        worlds = infos["env_id"]
        steps[worlds] += 1
        episodes += (terminations | truncations).sum()
        actions = (observations[:, 2] > 0.0).astype(np.int32)
        pool.send(actions, worlds)

print(
    f"{steps.sum()} observations of {len(steps)} worlds, {'none left behind' if steps.min() > 0 else 'some forgotten'}"
)
print(f"{episodes} episodes ended")
