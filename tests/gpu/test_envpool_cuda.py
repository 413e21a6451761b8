"""Pools of ``worldloom.envpool`` whose worlds are on a GPU: results are NumPy arrays."""

import numpy as np
import pytest

import worldloom.envpool as envpool


def policy(observations):
    return (observations[:, 2] + observations[:, 3] > 0).astype(np.int32)


@pytest.mark.parametrize("batch_size", [6, 3, 4])
def test_a_pool_on_a_gpu_gives_the_episodes_of_the_cpu(batch_size):
    """Batches of all six environments, of one group, and of two groups of two."""
    arguments = {"num_envs": 6, "batch_size": batch_size, "seed": 2, "exact": True}
    histories = []
    for device in ("cpu", "cuda:0"):
        pool = envpool.make("CartPole-v1", "gymnasium", device=device, **arguments)
        pool.async_reset()
        history = [[] for _ in range(6)]
        while min(map(len, history)) < 8:
            observations, rewards, *_, info = pool.recv()
            for id_, observation, reward in zip(info["env_id"].tolist(), observations, rewards, strict=True):
                history[id_].append((observation.tolist(), float(reward)))
            pool.send(policy(observations), info["env_id"])
        pool.close()
        histories.append([rows[:8] for rows in history])
    assert histories[0] == histories[1]


def test_partial_steps_on_a_gpu():
    pool = envpool.make_dm("CartPole-v1", num_envs=4, device="cuda:0")
    pool.reset()
    time_step = pool.step(np.array([0, 1]), np.array([3, 1]))
    assert time_step.observation.env_id.tolist() == [3, 1] and time_step.step_type.tolist() == [1, 1]
    assert pool.simulations[0].world.step.numpy().tolist() == [0, 1, 0, 1]
