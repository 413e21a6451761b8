"""A pool of Gymnasium environments in worker processes, stepped synchronously or asynchronously."""

import gymnasium
import numpy as np

from worldloom.vector import ProcessPool, WorkerError

# Synchronous: a Gymnasium vector environment.
pool = ProcessPool("Acrobot-v1", num_envs=8, seed=0)
observations, infos = pool.reset()
for _ in range(20):
    observations, rewards, terminations, truncations, infos = pool.step(pool.action_space.sample())
pool.close()
print(f"all at once: {observations.shape}, rewards {rewards.tolist()}")


class Shaky(gymnasium.Env):
    """An environment with a bug: the fifth step of environment 3 divides by zero."""

    observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)

    def __init__(self, number):
        self.number, self.broken = number, number == 3

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.age = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.age += 1
        return np.full(1, self.age, np.float32), 1.0 / (5 - self.age if self.broken else 1), self.age == 8, False, {}


# Asynchronous: recv() returns the first two finished environments while the others continue.
pool = ProcessPool([lambda k=k: Shaky(k) for k in range(6)], num_envs=6, batch_size=2, num_workers=3, seed=0)
pool.async_reset()
seen, faults = set(), 0
while faults == 0 or len(seen) < 6:
    try:
        observations, rewards, terminations, truncations, infos = pool.recv()
    except WorkerError as error:  # its worker has been replaced: the pool stays usable
        faults += 1
        if faults == 1:
            print(str(error).splitlines()[0])
        continue
    seen.update(infos["env_id"].tolist())
    pool.send(np.ones(2, int), infos["env_id"])
pool.close()
print(f"two at a time: {observations.shape}, environments {sorted(seen)}, goes on after faults: {faults > 0}")
