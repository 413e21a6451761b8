"""Programs for EnvPool with another import line: synchronous, asynchronous, and CleanRL's four values per step."""

import numpy as np

import worldloom.envpool as envpool
import worldloom.envpool.gym_v21 as old_envpool

# Synchronous: the step after the end of an episode is its reset.
env = envpool.make("CartPole-v1", env_type="gymnasium", num_envs=64, seed=1)
obs, info = env.reset()
returns, finished = np.zeros(len(env)), []
for _ in range(200):
    obs, rew, term, trunc, info = env.step((obs[:, 2] > 0).astype(int))
    returns += rew
    finished += returns[term | trunc].tolist()
    returns[term | trunc] = 0.0
print(f"{len(finished)} episodes, {np.mean(finished):.0f} steps on average")

# Asynchronous, with dm_env's functions: nine of ten environments at a time, in the order in which they finish.
env = envpool.make_dm("CartPole-v1", num_envs=10, batch_size=9)
env.async_reset()
steps = np.zeros(10, int)
for _ in range(100):
    timestep = env.recv()
    steps[timestep.observation.env_id] += 1
    env.send(np.random.randint(env.action_spec().num_values, size=9), timestep.observation.env_id)
env.close()
print(f"{steps.sum()} time steps, at least {steps.min()} of each environment")

# gym before version 0.26.
env = old_envpool.make("CartPole-v1", env_type="gym", num_envs=4)
obs = env.reset()
obs, rew, done, info = env.step(np.ones(4, int), env_id=np.arange(4))
print("environments", info["env_id"], "elapsed steps", info["elapsed_step"])
