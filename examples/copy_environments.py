"""Copies of environments: two futures of one batch of worlds, and a pickle that continues bit for bit."""

import copy
import pickle

import numpy as np

import worldloom as wl

with wl.make("CartPole-v1", num_envs=256, seed=0, max_episode_steps=200) as envs:
    envs.reset()
    for _ in range(10):
        envs.step(envs.action_space.sample())

    strong = copy.deepcopy(envs)
    strong.set_attr("force", 20.0)
    saved = pickle.dumps(envs)

    actions = np.ones(256, np.int64)
    envs.step(actions), strong.step(actions)
    speeds = [float(np.mean(env.get_attr("velocity"))) for env in (envs, strong)]
    print(f"mean speed after one step: {speeds[0]:.2f} m/s, with twice the force {speeds[1]:.2f} m/s")

    again = pickle.loads(saved)
    again.step(actions)
    assert again.get_attr("velocity") == envs.get_attr("velocity")
    print(f"the pickle of {len(saved):,} bytes continued with the same bits")
