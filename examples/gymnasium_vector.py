"""Worlds as a Gymnasium vector environment: spaces, steps, last observations, and Gymnasium's own wrappers."""

import gymnasium
import numpy as np
from gymnasium.wrappers.vector import RecordEpisodeStatistics

import worldloom as wl

envs = wl.make("CartPole-v1", num_envs=256, seed=0)
print("actions:", envs.single_action_space, "observations:", envs.observation_space.shape)

observations, infos = envs.reset(seed=42)
ended = 0
for _ in range(100):
    leaning = observations[:, 2] > 0.0
    observations, rewards, terminations, truncations, infos = envs.step(leaning.astype(np.int32))
    if "final_obs" in infos:  # a world that ended returns its next episode's first observation; the last one is here
        ended += infos["_final_obs"].sum()
print("episodes that ended:", ended)

mask = np.arange(256) < 2
observations, _ = envs.reset(options={"reset_mask": mask})
print("two worlds were reset:", bool((np.abs(observations[mask]) < 0.05).all()))

counted = RecordEpisodeStatistics(gymnasium.make_vec("worldloom/CartPole-v1", num_envs=4))
counted.reset(seed=1)
counted.action_space.seed(1)
lengths = []
while len(lengths) < 10:
    *_, infos = counted.step(counted.action_space.sample())
    if "episode" in infos:
        lengths += infos["episode"]["l"][infos["_episode"]].tolist()
print("random episodes last", "between 8 and 100 steps" if min(lengths) >= 8 and max(lengths) <= 100 else lengths)
