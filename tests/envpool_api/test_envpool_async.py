"""Asynchronous pools: any batch size, incomplete sends, the same episodes as a synchronous pool."""

import gc
import threading

import numpy as np
import pytest

import worldloom.envpool as envpool
from worldloom.core.base.errors import InputError


def make(num_envs, batch_size, **arguments):
    return envpool.make("CartPole-v1", "gymnasium", num_envs=num_envs, batch_size=batch_size, **arguments)


def policy(observations):
    return (observations[:, 2] + observations[:, 3] > 0).astype(np.int32)


@pytest.mark.parametrize("batch_size", [1, 2, 3, 4, 5, 6])
def test_every_batch_size_gives_the_episodes_of_a_synchronous_pool(batch_size):
    sync = make(6, 6, seed=3)
    observations, _ = sync.reset()
    expected = [observations]
    for _ in range(12):
        observations, *_ = sync.step(policy(observations))
        expected.append(observations)
    pool = make(6, batch_size, seed=3)
    pool.async_reset()
    counts = np.zeros(6, int)
    while counts.min() < 10:
        observations, *_, info = pool.recv()
        ids = info["env_id"]
        assert len(set(ids.tolist())) == len(ids) == batch_size
        assert info["players"]["env_id"].tolist() == ids.tolist()
        for id_, observation in zip(ids.tolist(), observations, strict=True):
            if counts[id_] < 12:
                np.testing.assert_array_equal(observation, expected[counts[id_]][id_])
            counts[id_] += 1
        pool.send(policy(observations), ids)
    pool.close()


def test_environments_return_when_their_group_lacks_actions():
    """Actions for one environment of each group: they step alone, and the others keep their state."""
    pool = make(4, 2, num_threads=1)  # groups (0, 1) and (2, 3)
    pool.async_reset()
    first, second = pool.recv(), pool.recv()
    assert [result[4]["env_id"].tolist() for result in (first, second)] == [[0, 1], [2, 3]]
    pool.send(np.array([1, 1]), np.array([0, 3]))
    *_, info = pool.recv()
    assert sorted(info["env_id"].tolist()) == [0, 3] and info["elapsed_step"].tolist() == [1, 1]
    pool.send(np.array([0, 1]), np.array([2, 1]))
    observations, *_, info = pool.recv()
    assert sorted(info["env_id"].tolist()) == [1, 2] and info["elapsed_step"].tolist() == [1, 1]
    sync = make(4, 4)
    sync.reset()
    expected, *_ = sync.step(np.array([1, 1, 0, 1]))
    np.testing.assert_array_equal(observations, expected[info["env_id"]])
    pool.close()


def test_single_environments_can_be_reset():
    pool = make(4, 2)
    pool.async_reset()
    pool.recv()
    pool.recv()
    _, info = pool.reset(np.array([1, 2]))
    assert sorted(info["env_id"].tolist()) == [1, 2] and info["elapsed_step"].tolist() == [0, 0]
    pool.close()


@pytest.mark.parametrize("batch_size", [2, 4])
def test_a_reset_of_all_discards_what_was_not_received(batch_size):
    pool = make(4, batch_size)
    pool.async_reset()
    *_, info = pool.recv()
    pool.send(np.zeros(batch_size, int), info["env_id"])
    _, info = pool.reset()
    assert len(info["env_id"]) == batch_size and not info["elapsed_step"].any()
    pool.send(np.zeros(batch_size, int), info["env_id"])
    pool.close()


def test_recv_that_would_wait_forever_is_an_error():
    pool = make(4, 2)
    with pytest.raises(InputError, match="only 0 are stepping"):
        pool.recv()
    pool.async_reset()
    pool.recv()
    pool.recv()
    pool.send(np.array([0]), np.array([2]))
    with pytest.raises(InputError, match="recv returns 2 environments, but only 1 are stepping"):
        pool.recv()
    pool.close()


def test_a_second_action_is_an_error():
    pool = make(4, 2)
    pool.async_reset()
    *_, info = pool.recv()
    pool.send(np.zeros(2, int), info["env_id"])
    with pytest.raises(InputError, match="has its action already"):
        pool.send(np.zeros(2, int), info["env_id"])
    pool.close()


def test_an_error_in_a_group_is_raised_by_recv():
    pool = make(2, 1)
    pool.async_reset()
    pool.recv()
    pool.recv()
    pool.simulations[0].close()
    pool.send(np.zeros(1, int), np.array([0]))
    with pytest.raises(Exception, match="closed"):
        pool.recv()
    pool.close()


def test_threads_end_with_their_pool():
    before = threading.active_count()
    pool = make(4, 2, num_threads=2)
    assert threading.active_count() == before + 2
    pool.close()
    pool.close()
    assert threading.active_count() == before
    with pytest.raises(InputError, match="closed"):
        pool.recv()
    pool = make(4, 2, num_threads=2)
    del pool
    gc.collect()
    assert threading.active_count() == before
