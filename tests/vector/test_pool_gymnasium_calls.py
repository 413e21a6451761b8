"""The process pool in place of Gymnasium's AsyncVectorEnv: its asynchronous calls, its seeds and its error types."""

from __future__ import annotations

import copy
import multiprocessing

import gymnasium
import numpy as np
import pytest
from gymnasium.error import AlreadyPendingCallError, ClosedEnvironmentError, NoAsyncCallError
from pool_envs import Mixed, Moody, Uneven

import worldloom as wl
from worldloom.vector import ProcessPool, WorkerError


def cartpole() -> gymnasium.Env:
    return gymnasium.make("CartPole-v1")


@pytest.fixture(scope="module")
def pool():
    """A pool whose calls have all ended, before and after each test."""
    with ProcessPool([cartpole] * 3, num_workers=2) as pool:
        yield pool


def test_the_number_of_functions_is_the_number_of_environments(pool: ProcessPool):
    assert pool.num_envs == 3
    with ProcessPool(cartpole) as one:
        assert one.num_envs == 1
        with pytest.raises(gymnasium.error.ResetNeeded):
            one.step(np.zeros(1, int))
    with pytest.raises(wl.InputError, match="a list of 2 such functions"):
        ProcessPool([cartpole] * 3, 2)


def test_seeds_and_generators_are_those_of_the_environments(pool: ProcessPool):
    sync = gymnasium.vector.SyncVectorEnv([cartpole] * 3)
    for vector in (pool, sync):
        vector.reset(seed=42)
    assert pool.np_random_seed == sync.np_random_seed == (42, 43, 44)
    assert [g.random() for g in pool.np_random] == [g.random() for g in sync.np_random]
    seeds = [2**64 - 1, 2**63, None]
    assert np.array_equal(pool.reset(seed=seeds)[0][:2], sync.reset(seed=seeds)[0][:2])
    assert pool.np_random_seed[:2] == (2**64 - 1, 2**63)


def test_seeds_of_any_size(pool: ProcessPool):
    """Environments without a seed report one of 128 bits, and a reset with it repeats their episodes."""
    with ProcessPool([cartpole] * 3, num_workers=1) as drawn:
        first = drawn.reset()[0]
        assert max(drawn.np_random_seed) >= 2**64
        np.testing.assert_array_equal(drawn.reset(seed=drawn.np_random_seed)[0], first)
        np.testing.assert_array_equal(pool.reset(seed=drawn.np_random_seed)[0], first)
    sync = gymnasium.vector.SyncVectorEnv([cartpole] * 3)
    for seeds in (2**64 - 2, [2**64, None, 3], [5, 2**1000, 2**64 - 1], 7):
        ours, theirs = pool.reset(seed=seeds)[0], sync.reset(seed=seeds)[0]
        chosen = [k for k in range(3) if not isinstance(seeds, list) or seeds[k] is not None]
        np.testing.assert_array_equal(ours[chosen], theirs[chosen])
        assert [pool.np_random_seed[k] for k in chosen] == [sync.np_random_seed[k] for k in chosen]
    for wrong in (-1, True, 1.0, [0, 1, -1], [0, 1, 2.0], [0, True, 2], "abc", 2**64 + 0.5):
        with pytest.raises(wl.InputError, match=r"^seeds? (are|is a) whole number"):
            pool.reset(seed=wrong)


def test_wide_seeds_of_the_pool_apply_to_copies():
    with ProcessPool(cartpole, 2, num_workers=1, seed=[2**100, 2**64 + 1]) as pool, copy.deepcopy(pool) as twin:
        expected = pool.reset()[0]
        assert pool.np_random_seed == (2**100, 2**64 + 1)
        np.testing.assert_array_equal(twin.reset()[0], expected)


def test_asynchronous_calls_return_what_the_others_do(pool: ProcessPool):
    with ProcessPool([cartpole] * 3, num_workers=1) as other:
        pool.reset_async(seed=5)
        assert np.array_equal(pool.reset_wait()[0], other.reset(seed=5)[0])
        mask = {"reset_mask": np.array([True, False, True])}
        for _ in range(12):
            actions = pool.action_space.sample()
            pool.step_async(actions)
            for mine, theirs in zip(pool.step_wait(timeout=60.0)[:4], other.step(actions)[:4], strict=True):
                assert np.array_equal(mine, theirs)
        pool.reset_async([1, 2, 3], options=mask)
        assert np.array_equal(pool.reset_wait()[0], other.reset(seed=[1, 2, 3], options=mask)[0])
        pool.call_async("get_wrapper_attr", "gravity")
        assert pool.call_wait() == other.get_attr("gravity") == (9.8,) * 3


def test_the_order_of_asynchronous_calls_is_gymnasiums(pool: ProcessPool):
    for name in ("reset", "step", "call"):
        with pytest.raises(NoAsyncCallError, match=f"Calling `{name}_wait` without any prior call") as caught:
            getattr(pool, f"{name}_wait")()
        assert isinstance(caught.value, wl.InputError) and caught.value.name == name
    pool.reset(seed=0)
    pool.step_async(np.zeros(3, int))
    for call in (
        pool.reset_async,
        pool.reset,
        pool.recv,
        pool.async_reset,
        lambda: pool.step(np.zeros(3, int)),
        lambda: pool.send(np.zeros(3, int)),
        lambda: pool.set_attr("gravity", 1.0),
        lambda: pool.call_async("gravity"),
        lambda: pool.get_attr("gravity"),
    ):
        with pytest.raises(AlreadyPendingCallError, match="pending call to `step` to complete") as caught:
            call()
        assert isinstance(caught.value, wl.InputError) and caught.value.name == "step"
    with pytest.raises(NoAsyncCallError):
        pool.reset_wait()
    assert pool.step_wait()[1].tolist() == [1.0] * 3
    with pytest.raises(ValueError, match="timeout is a positive number"):
        pool.step_async(np.zeros(3, int))
        pool.step_wait(timeout=-1)
    pool.step_wait()


def test_a_wait_that_takes_too_long_leaves_the_pool_usable():
    with ProcessPool([lambda: Uneven(1, 0.4)] * 2, num_workers=2) as pool:
        pool.reset()
        pool.step_async(np.zeros(2, int))
        with pytest.raises(multiprocessing.TimeoutError, match=r"did not finish within 0\.01 s") as caught:
            pool.step_wait(timeout=0.01)
        assert isinstance(caught.value, (wl.InputError, TimeoutError))
        assert pool.step(np.zeros(2, int))[0].tolist() == [2, 2]


def test_a_pool_that_is_closed_says_so_in_gymnasiums_type():
    pool = ProcessPool([cartpole] * 2, num_workers=1)
    pool.reset()
    pool.step_async(np.zeros(2, int))
    with pytest.warns(UserWarning, match="Calling `close` while waiting for a pending call to `step`"):
        pool.close(terminate=True)
    pool.close(terminate=True)
    for call in (pool.reset, pool.reset_async, pool.step_wait, pool.call_wait, lambda: pool.step([0, 0]), pool.recv):
        with pytest.raises(ClosedEnvironmentError, match="this pool is closed") as caught:
            call()
        assert isinstance(caught.value, wl.InputError)


def test_wrong_arguments_raise_gymnasiums_types(pool: ProcessPool):
    pool.reset()
    for call, kind in [
        (lambda: pool.step(0), TypeError),
        (lambda: pool.step([0, 0]), ValueError),
        (lambda: pool.reset(options={"reset_mask": np.array([1, 0, 1])}), TypeError),
        (lambda: pool.reset(options={"reset_mask": np.array([True])}), ValueError),
        (lambda: pool.get_attr("nothing"), AttributeError),
        (lambda: ProcessPool("Nowhere-v0", 2), gymnasium.error.UnregisteredEnv),
        (lambda: ProcessPool([Moody, Mixed]), RuntimeError),
        (lambda: ProcessPool([Moody, Mixed], observation_mode="different"), RuntimeError),
        (lambda: ProcessPool([Moody], observation_mode="odd"), ValueError),
        (lambda: ProcessPool([Moody], observation_mode=(1, 2)), TypeError),
    ]:
        with pytest.raises(kind) as caught:
            call()
        assert isinstance(caught.value, (wl.InputError, WorkerError))
    assert pool.get_attr("gravity") == (9.8,) * 3
