"""Results that one kernel copies, as on a GPU, are those of the readers; here the kernel runs on the CPU."""

import numpy as np
import pytest
import torch
from meadow import MEADOW

import worldloom as wl
from worldloom.vector.transfer.lazy_infos import LazyInfos

N = 5
WORLDS = ["CartPole-v1", "FrozenLake-v1", MEADOW, "Pendulum-v1"]
MODES = ["same_step", "next_step"]


def copied_results(env):
    """The function that returns the results of the last step, as on a GPU."""
    return env.batch._readers.copied_results(lambda: None)


def assert_same(one, two):
    assert type(one) is type(two) or (isinstance(one, dict) and isinstance(two, dict))
    if isinstance(one, dict):
        assert list(one) == list(two)
        for key in one:
            assert_same(one[key], two[key])
    else:
        assert one.dtype == two.dtype and torch.equal(one, two)


@pytest.mark.parametrize("autoreset", MODES)
@pytest.mark.parametrize("world", WORLDS, ids=lambda world: getattr(world, "id", world))
def test_the_kernel_copies_what_the_readers_read(world, autoreset):
    env = wl.make(world, N, env_type="torch", seed=0, autoreset=autoreset)
    env.reset()
    env.action_space.seed(0)
    results, kept = copied_results(env), []
    assert results is not None
    for _ in range(60):
        expected = env.step(env.action_space.sample())
        found = results()
        assert_same(dict(enumerate(found)), dict(enumerate(expected)))
        kept.append((found, expected))
    for found, expected in kept:
        assert_same(dict(enumerate(found)), dict(enumerate(expected)))


def test_a_tuple_is_left_to_the_readers():
    env = wl.make("Blackjack-v1", N, env_type="torch", seed=0)
    assert copied_results(env) is None
    assert isinstance(env.step(torch.zeros(N, dtype=torch.int64))[0], tuple)


@pytest.mark.parametrize("copy", [True, False])
def test_infos_of_tensors_are_made_at_their_first_use(copy):
    env = wl.make("CartPole-v1", N, env_type="torch", seed=0, copy=copy)
    infos = env.step(torch.ones(N, dtype=torch.int64))[4]
    assert type(infos) is LazyInfos and dict.__len__(infos) == 0
    assert set(infos) == {"final_obs", "_final_obs", "final_info", "_final_info"}
    assert dict.__len__(infos) == 4
    assert type(wl.make("CartPole-v1", N, seed=0).step(np.ones(N, np.int64))[4]) is dict


def test_infos_that_are_used_late_belong_to_their_step():
    env, twin = (wl.make("CartPole-v1", N, env_type="torch", seed=0) for _ in range(2))
    late, expected = [], []
    for _ in range(40):
        actions = torch.ones(N, dtype=torch.int64)
        late.append(env.step(actions)[4])
        expected.append({key: value for key, value in twin.step(actions)[4].items() if key != "final_info"})
    assert any(infos["_final_obs"].any() for infos in expected)
    for infos, values in zip(late, expected, strict=True):
        assert all(torch.equal(infos[key], values[key]) for key in values)


@pytest.mark.parametrize("world", [*WORLDS, "Blackjack-v1"], ids=lambda world: getattr(world, "id", world))
@pytest.mark.parametrize("autoreset", MODES)
def test_the_mask_of_ended_worlds_is_that_of_the_flags(world, autoreset):
    env = wl.make(world, N, seed=0, autoreset=autoreset)
    env.reset()
    env.action_space.seed(0)
    for _ in range(60):
        _, _, terminations, truncations, infos = env.step(env.action_space.sample())
        ended = terminations | truncations
        assert np.array_equal(env.simulation.world["finished"].numpy(), ended)
        assert ("final_obs" in infos) == (autoreset == "same_step" and bool(ended.any()))
        if "final_obs" in infos:
            assert np.array_equal(infos["_final_obs"], ended)
