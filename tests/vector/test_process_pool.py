"""The pool of worker processes is a Gymnasium vector environment, and an asynchronous pool."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from pool_envs import Mixed, Moody, Uneven

import worldloom as wl
from worldloom.vector.process_pool import ProcessPool, WorkerError
from worldloom.vector.process_pool.spsc_ring import SpscRing

MODES = {"next_step": AutoresetMode.NEXT_STEP, "same_step": AutoresetMode.SAME_STEP, "disabled": AutoresetMode.DISABLED}


def assert_same(ours: Any, theirs: Any) -> None:
    """Compare nested values by value, type and shape."""
    if isinstance(theirs, dict):
        assert isinstance(ours, dict) and set(ours) == set(theirs)
        for key in theirs:
            assert_same(ours[key], theirs[key])
    elif isinstance(theirs, tuple) or (isinstance(theirs, np.ndarray) and theirs.dtype == object):
        assert type(ours) is type(theirs) and len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_same(one, other)
    elif isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    else:
        assert ours == theirs


@pytest.fixture(scope="module")
def cartpoles() -> Iterator[ProcessPool]:
    pool = ProcessPool("CartPole-v1", 4, num_workers=2)
    yield pool
    pool.close()


@pytest.fixture(scope="module")
def uneven() -> Iterator[ProcessPool]:
    """Eight environments, every second of them slow, two at a time."""
    pool = ProcessPool([functools.partial(Uneven, k, 0.15) for k in range(8)], 8, batch_size=2, num_workers=8)
    yield pool
    pool.close()


@pytest.mark.parametrize("mode", MODES)
def test_same_as_gymnasium(mode: str):
    """Compared step by step, over all kinds of spaces, infos and episode ends."""
    factories = [functools.partial(Mixed, bonus=k) for k in range(5)]
    ours, theirs = (
        ProcessPool(factories, 5, num_workers=2, autoreset=mode),
        SyncVectorEnv(factories, autoreset_mode=MODES[mode]),
    )
    assert isinstance(ours, VectorEnv) and ours.num_envs == 5
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    assert (
        ours.single_observation_space == theirs.single_observation_space
        and ours.single_action_space == theirs.single_action_space
    )
    assert ours.metadata == theirs.metadata
    try:
        assert_same(ours.reset(seed=3, options={"where": "here"}), theirs.reset(seed=3, options={"where": "here"}))
        theirs.action_space.seed(0)
        ended = np.zeros(5, np.bool_)
        for _ in range(30):
            if mode == "disabled" and ended.any():
                mask = {"reset_mask": ended}
                assert_same(ours.reset(options=dict(mask)), theirs.reset(options=dict(mask)))
            actions = theirs.action_space.sample()
            mine, reference = ours.step(actions), theirs.step(actions)
            assert_same(mine, reference)
            assert ours.observation_space.contains(mine[0])
            ended = mine[2] | mine[3]
        assert_same(
            ours.reset(seed=[9, None, 7, 6, 5])[0]["place"][[0, 2, 3, 4]],
            theirs.reset(seed=[9, None, 7, 6, 5])[0]["place"][[0, 2, 3, 4]],
        )
    finally:
        ours.close()


def test_the_pools_seed_counts_once():
    with_seed = ProcessPool("CartPole-v1", 2, num_workers=1, seed=5)
    reference = SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 2)
    try:
        assert_same(with_seed.reset()[0], reference.reset(seed=5)[0])
        assert_same(with_seed.reset()[0], reference.reset()[0])
    finally:
        with_seed.close()


def test_an_id_that_only_this_process_knows(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(gymnasium.envs.registration, "registry", dict(gymnasium.registry))
    gymnasium.register(
        "Here-v0", entry_point=lambda bonus, render_mode=None: Mixed(bonus, render_mode), max_episode_steps=9
    )
    pool = ProcessPool("Here-v0", 2, num_workers=1, env_kwargs={"bonus": 4.5, "render_mode": "rgb_array"})
    try:
        assert pool.get_attr("bonus") == (4.5, 4.5)
        pool.set_attr("bonus", [1.0, 2.0])
        assert pool.call("get_wrapper_attr", "bonus") == (1.0, 2.0)
        pool.set_attr("bonus", 3.0)
        assert pool.get_attr("bonus") == (3.0, 3.0)
        assert pool.render_mode == "rgb_array" and pool.spec.id == "Here-v0"
        pool.reset(seed=0)
        assert_same(pool.render(), (np.zeros((2, 2, 3), np.uint8),) * 2)
        with pytest.raises(
            WorkerError, match=r"environment 0 raised when it was called: .*nothing_of_that_name.*its worker continues"
        ):
            pool.get_attr("nothing_of_that_name")
        assert pool.get_attr("bonus") == (3.0, 3.0)
    finally:
        pool.close()


@pytest.mark.parametrize(
    "wrapper",
    [
        gymnasium.wrappers.vector.RecordEpisodeStatistics,
        gymnasium.wrappers.vector.NormalizeObservation,
        gymnasium.wrappers.vector.NormalizeReward,
        gymnasium.wrappers.vector.FlattenObservation,
        functools.partial(gymnasium.wrappers.vector.ClipReward, max_reward=0.5),
    ],
)
def test_gymnasiums_vector_wrappers(cartpoles: ProcessPool, wrapper: Any):
    wrapped = wrapper(cartpoles)
    reference = wrapper(SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 4))
    assert_same(wrapped.reset(seed=1), reference.reset(seed=1))
    for _ in range(30):
        mine, theirs = wrapped.step(np.ones(4, np.int64)), reference.step(np.ones(4, np.int64))
        for infos in (mine[4], theirs[4]):
            infos.get("episode", {}).pop("t", None)  # seconds
        assert_same(mine, theirs)


def test_what_is_handed_out_stays_as_it_is(cartpoles: ProcessPool):
    first, _ = cartpoles.reset(seed=0)
    second, rewards, terminations, truncations, _ = cartpoles.step(np.zeros(4, int))
    kept = [x.copy() for x in (first, second, rewards, terminations, truncations)]
    for _ in range(12):
        cartpoles.step(np.zeros(4, int))
    assert_same((first, second, rewards, terminations, truncations), tuple(kept))


def test_without_copies_the_next_step_overwrites():
    pool = ProcessPool("CartPole-v1", 2, num_workers=1, copy=False)
    try:
        first, _ = pool.reset(seed=0)
        second = pool.step(np.zeros(2, int))[0]
        assert np.shares_memory(first, second)
    finally:
        pool.close()
    assert np.isfinite(second).all()  # the memory lives as long as somebody looks at it


def test_recv_hands_out_the_first_that_are_finished(uneven: ProcessPool):
    uneven.async_reset(seed=0)
    ids = []
    for _ in range(4):
        observations, rewards, _, _, infos = uneven.recv()
        assert observations.shape == (2,) and not observations.any() and not rewards.any()
        ids += infos["env_id"].tolist()
    assert sorted(ids) == list(range(8))
    uneven.send(np.zeros(8, int), np.arange(8))
    first = [uneven.recv() for _ in range(2)]
    assert sorted(i for batch in first for i in batch[4]["env_id"].tolist()) == [0, 2, 4, 6]
    for observations, rewards, terminations, truncations, infos in first:
        assert observations.tolist() == [1, 1] and not terminations.any() and not truncations.any()
        assert_same(rewards, infos["env_id"].astype(float))
        assert infos["number"].tolist() == infos["env_id"].tolist() and infos["_number"].all()
    again = uneven.step(
        np.zeros(2, int), first[0][4]["env_id"]
    )  # the quick ones again, while the slow ones still sleep
    assert sorted(again[4]["env_id"].tolist()) == sorted(first[0][4]["env_id"].tolist()) and again[0].tolist() == [2, 2]
    assert sorted(i for _ in range(2) for i in uneven.recv()[4]["env_id"].tolist()) == [1, 3, 5, 7]


def test_a_long_info_comes_along(uneven: ProcessPool):
    uneven.async_reset()
    for _ in range(4):
        uneven.recv()
    infos = uneven.step(np.array([1, 0]), [6, 2])[4]
    lengths = {int(env_id): len(text) for env_id, text in zip(infos["env_id"], infos["long"], strict=True)}
    assert lengths == {6: 5000, 2: 0}


def test_some_can_be_reset_while_others_work(uneven: ProcessPool):
    uneven.async_reset()
    for _ in range(4):
        uneven.recv()
    uneven.send(np.zeros(3, int), [1, 3, 5])
    uneven.async_reset(env_id=[2, 4], seed=1)
    assert sorted(uneven.recv()[4]["env_id"].tolist()) == [2, 4]
    uneven.async_reset()  # whatever is at work is dropped
    assert all(not uneven.recv()[0].any() for _ in range(4))


def test_nothing_is_lost_or_handed_out_twice():
    """Many small submissions: every environment takes exactly as many steps as actions were sent."""
    with ProcessPool([functools.partial(Uneven, k, 0.0) for k in range(7)], 7, batch_size=3, num_workers=3) as pool:
        sent, counts = np.zeros(7, int), np.zeros(7, int)
        pool.async_reset()
        for _ in range(1500):
            observations, _, _, _, infos = pool.recv()
            ids = infos["env_id"]
            assert len(set(ids.tolist())) == 3
            assert_same(observations, sent[ids])
            counts[ids] += 1
            pool.send(np.zeros(3, int), ids)
            sent[ids] += 1
        assert counts.sum() == 4500 and counts.min() > 0


def test_wrong_use_is_answered_with_a_sentence(cartpoles: ProcessPool, uneven: ProcessPool):
    cartpoles.reset(seed=0)
    uneven.async_reset()
    ids = uneven.recv()[4]["env_id"]
    other = next(k for k in range(8) if uneven._supervisor.in_flight[k])
    for wrong, words in [
        (lambda: cartpoles.step(np.zeros(3, int)), r"for 4 environments: they must have shape \(4,\), not \(3,\)"),
        (lambda: cartpoles.step(np.zeros(4)), r"for 4 environments: they must be int64, not float64"),
        (lambda: cartpoles.reset(seed=[1, 2]), r"one per environment \(4\)"),
        (lambda: cartpoles.reset(seed=-1), r"whole numbers of 0 or more, not -1"),
        (lambda: cartpoles.reset(options={"reset_mask": np.zeros(4, bool)}), r"reset_mask.* at least one True"),
        (lambda: cartpoles.recv(), r"waits for 4 environments, but 0 are in flight"),
        (lambda: cartpoles.call("step", 0), r"use step\(\)"),
        (lambda: cartpoles.set_attr("x", [1, 2]), r"one value for all environments or 4, not 2"),
        (lambda: uneven.reset(), r"call async_reset\(\), then recv\(\)"),
        (lambda: uneven.send(np.zeros(1, int), [8]), r"from 0 to 7"),
        (lambda: uneven.send(np.zeros(2, int), [ids[0], ids[0]]), r"twice"),
        (lambda: uneven.send(np.zeros(1, int), [other]), rf"environment {other} is still in flight"),
    ]:
        with pytest.raises(wl.InputError, match=words):
            wrong()
    assert cartpoles.step(np.zeros(4, int))[1].tolist() == [1.0] * 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"num_envs": 0}, "num_envs is a whole number from 1 to 1048576, not 0"),
        ({"batch_size": 3}, "batch_size is a whole number from 1 to 2, not 3"),
        ({"num_workers": True}, "num_workers is a whole number from 1 to 2, not True"),
        ({"timeout": 0}, "timeout is a positive number"),
        ({"timeout": float("inf")}, "timeout is a positive number of seconds up to 1,000,000, not inf"),
        ({"timeout": 10**12}, "timeout is a positive number of seconds up to 1,000,000"),
        ({"start_timeout": float("inf")}, "start_timeout is a positive number of seconds up to 1,000,000"),
        ({"autoreset": "sometimes"}, "autoreset must be one of same_step, next_step, disabled"),
        ({"seed": "x"}, "seed is a whole number"),
        ({"factories_or_id": "Nowhere-v0"}, "Gymnasium has no environment 'Nowhere-v0'"),
        ({"factories_or_id": [Moody]}, "a list of 2 such functions"),
        ({"factories_or_id": Moody, "env_kwargs": {"a": 1}}, "give an id with them"),
        ({"factories_or_id": lambda held=threading.Lock(): held}, "cannot be sent to a worker process"),
        ({"factories_or_id": [Moody, Mixed]}, "environment 1 has other spaces than environment 0"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_cannot_be_made_is_said(arguments: dict[str, Any], words: str):
    with pytest.raises(wl.InputError, match=words):
        ProcessPool(**{"factories_or_id": "CartPole-v1", "num_envs": 2, "num_workers": 2, **arguments})


def test_the_order_of_calls_is_watched():
    pool = ProcessPool("CartPole-v1", 2, num_workers=1, autoreset="disabled")
    try:
        with pytest.raises(wl.InputError, match=r"environment 0 has not been reset yet: call reset\(\) first"):
            pool.step(np.zeros(2, int))
        pool.reset(seed=0)
        while not (ended := np.logical_or(*pool.step(np.array([0, 1]))[2:4])).any():
            pass
        with pytest.raises(wl.InputError, match=rf"environment {ended.argmax()} is over, and autoreset is disabled"):
            pool.step(np.zeros(2, int))
        assert not pool.reset(options={"reset_mask": ended})[1]
        pool.step(np.zeros(2, int))
    finally:
        pool.close()
    pool.close()
    with pytest.raises(wl.InputError, match="this pool is closed"):
        pool.reset()


def test_a_ring_hands_on_every_id_in_order():
    slots, tail = np.zeros(3, np.int32), np.zeros(1, np.int64)
    writer, reader = SpscRing(slots, tail), SpscRing(slots, tail)
    assert reader.pop() is None
    for round_ in range(5):
        writer.push(round_)
        writer.push_all(np.array([10 + round_, 20 + round_]))
        assert reader.pop() == round_
        assert reader.pop_all(1).tolist() == [10 + round_]
        assert reader.pop_all(9).tolist() == [20 + round_]
        assert reader.pop_all(9).tolist() == []
