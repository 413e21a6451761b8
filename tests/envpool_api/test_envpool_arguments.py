"""Arguments of ``make`` and of the functions of a pool, and the errors they give."""

import numpy as np
import pytest

import worldloom as wl
import worldloom.envpool as envpool
from worldloom.core.base.errors import InputError
from worldloom.envpool import gym_v21


@pytest.mark.parametrize(
    ("task", "arguments", "message"),
    [
        ("Nothing-v0", {}, "Nothing-v0 is not supported, envpool.list_all_envs"),
        (3, {}, "a task is the id of a world"),
        ("CartPole-v1", {"env_type": "atari"}, "env_type must be 'gymnasium', 'gym' or 'dm', not 'atari'"),
        ("CartPole-v1", {"num_envs": 0}, "num_envs"),
        ("CartPole-v1", {"num_envs": 2, "batch_size": 3}, r"batch_size must be from 0 to num_envs \(2\), not 3"),
        ("CartPole-v1", {"batch_size": -1}, "batch_size"),
        ("CartPole-v1", {"max_num_players": 2}, "max_num_players must be 1"),
        ("CartPole-v1", {"seed": 2**31}, "a seed is a whole number"),
        ("CartPole-v1", {"seed": "one"}, "a seed is a whole number"),
        ("CartPole-v1", {"num_envs": 2, "seed": [1, 2, 3]}, "seeds are one per environment, 2, not 3"),
        ("CartPole-v1", {"seed": [1], "env_seed": [1]}, "not as both"),
        ("CartPole-v1", {"mass": 3.0}, "mass"),
        ("CartPole-v1", {"max_episode_steps": "x"}, "'max_steps' is a whole number from 0 to 2,147,483,647, not 'x'"),
        ("CartPole-v1", {"max_episode_steps": None}, "'max_steps' is a whole number"),
        ("CartPole-v1", {"max_episode_steps": 2.5}, "'max_steps' is a whole number"),
        ("CartPole-v1", {"from_pixels": True}, "from_pixels"),
        ("CartPole-v1", {"render_mode": "human"}, "render_mode"),
        ("CartPole-v1", {"gym_reset_return_info": False}, "gym_v21"),
    ],
)
def test_wrong_arguments(task, arguments, message):
    with pytest.raises(InputError, match=message):
        envpool.make(task, **{"env_type": "gymnasium", **arguments})


def test_stacks_that_do_not_fit_into_memory_are_refused():
    pytest.importorskip("mujoco")
    with pytest.raises(InputError, match=r"stacks of 1,000,000,000 observations for num_envs=1 need .* frame_stack"):
        envpool.make_gym("HalfCheetah-v5", frame_stack=10**9)


def test_wrong_actions_and_ids():
    pool = envpool.make_gym("CartPole-v1", num_envs=3)
    pool.reset()
    for actions, ids, message in [
        (np.zeros(2, int), None, r"action 'action' takes int32 of shape \(3,\), not int64 of shape \(2,\)"),
        (np.array(["a", "b", "c"]), None, "takes int32"),
        (np.full(3, 2**40), None, "int32 cannot represent"),
        (np.zeros(2, int), np.array([0, 0]), "names an environment twice"),
        (np.zeros(2, int), np.array([0, 3]), "whole numbers from 0 to 2"),
        (np.zeros(0, int), np.array([], int), "no id"),
    ]:
        with pytest.raises(InputError, match=message):
            pool.step(actions, ids)
    with pytest.raises(InputError, match="no environment is stepping"):
        pool.recv()
    with pytest.raises(InputError, match="selects at least one environment"):
        pool.reset(options={"reset_mask": np.zeros(3, bool)})
    with pytest.raises(InputError, match="unknown reset option"):
        pool.reset(options={"mask": np.zeros(3, bool)})
    pool.send(np.zeros(3, int))
    with pytest.raises(InputError, match="has its action already"):
        pool.send(np.zeros(3, int))


def test_a_mapping_may_hold_actions_and_ids():
    pool = envpool.make_gym("CartPole-v1", num_envs=3)
    pool.reset()
    *_, info = pool.step({"action": np.zeros(2, int), "env_id": np.array([2, 0])})
    assert info["env_id"].tolist() == [2, 0]


def test_several_partial_sends_return_together():
    pool = envpool.make_gym("CartPole-v1", num_envs=4)
    pool.reset()
    pool.send(np.array([0]), np.array([2]))
    pool.send(np.array([1, 1]), np.array([3, 0]))
    *_, info = pool.recv()
    assert info["env_id"].tolist() == [2, 3, 0]
    full, partial = (envpool.make_gym("CartPole-v1", num_envs=2, seed=1) for _ in range(2))
    full.reset(), partial.reset()
    expected, *_ = full.step(np.array([1, 0]))
    first, *_ = partial.step(np.array([0]), np.array([1]))
    second, *_ = partial.step(np.array([1]), np.array([0]))
    np.testing.assert_array_equal(np.stack([second[0], first[0]]), expected)


def test_seeds():
    def first(**arguments):
        return envpool.make_gym("CartPole-v1", num_envs=3, **arguments).reset()[0]

    assert np.array_equal(first(), first(seed=42))
    assert np.array_equal(first(seed=-1), first(seed=-1)) and not np.array_equal(first(seed=-1), first(seed=1))
    assert np.array_equal(first(seed=[4, 5, 6]), first(env_seed=np.array([4, 5, 6])))
    assert len(np.unique(first(), axis=0)) == 3


def test_specs_and_configuration():
    assert envpool.list_all_envs() == wl.list_all_envs()
    spec = envpool.make_spec("CartPole-v1", num_envs=5, batch_size=2, max_episode_steps=9, force=5.0)
    assert (spec.config.num_envs, spec.config.batch_size, spec.config.max_episode_steps) == (5, 2, 9)
    assert spec.config.force == 5.0 and spec.reward_threshold == 475.0
    assert envpool.make_spec("Blackjack-v1").config.max_episode_steps == 2**31 - 1
    assert "num_envs=5" in repr(spec)
    pool = envpool.make_gym("CartPole-v1", num_envs=2, force=5.0)
    assert pool.config["force"] == 5.0 and pool.simulations[0].world.force.numpy() == 5.0
    assert "CartPole-v1" in repr(pool)


def test_values_per_environment():
    pool = envpool.make_gym("CartPole-v1", num_envs=4, batch_size=2, force=np.array([1.0, 2.0, 3.0, 4.0], np.float32))
    assert [simulation.world.force.numpy().tolist() for simulation in pool.simulations] == [[1.0, 2.0], [3.0, 4.0]]
    pool.close()


def test_results_do_not_change_later():
    pool = envpool.make_gym("CartPole-v1", num_envs=2)
    pool.reset()
    result = pool.step(np.array([0, 1]))
    kept = [array.copy() for array in (*result[:4], result[4]["elapsed_step"])]
    pool.step(np.array([1, 1]))
    for array, copy in zip((*result[:4], result[4]["elapsed_step"]), kept, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_invalid_actions_are_faults():
    pool = envpool.make_gym("CartPole-v1", num_envs=2)
    pool.reset()
    _, _, _, truncated, _ = pool.step(np.array([0, 7]))
    assert truncated.tolist() == [False, True] and [fault.world for fault in pool.errors()] == [1]


def test_several_observations_are_a_dict_and_fields():
    pool = envpool.make_gym("CheetahRun-v1", num_envs=2)
    observations, _ = pool.reset()
    assert {key: value.shape for key, value in observations.items()} == {"position": (2, 8), "velocity": (2, 9)}
    time_step = envpool.make_dm("CheetahRun-v1", num_envs=2).reset()
    assert time_step.observation.position.shape == (2, 8) and time_step.observation.velocity.shape == (2, 9)


def test_render():
    pool = envpool.make_gym("CartPole-v1", num_envs=3, render_mode="rgb_array", render_width=64, render_height=48)
    pool.reset()
    assert pool.render().shape == (1, 48, 64, 3)
    assert pool.render(env_ids=[0, 2]).shape == (2, 48, 64, 3)
    with pytest.raises(InputError, match="render_mode='rgb_array'"):
        envpool.make_gym("CartPole-v1").render()


def test_module_names():
    names = {"make", "make_dm", "make_gym", "make_gymnasium", "make_spec", "list_all_envs"}
    assert names <= set(envpool.__all__) & set(gym_v21.__all__)
    assert isinstance(envpool.make_dm("CartPole-v1"), envpool.DMEnvPool)
    assert isinstance(envpool.make_gym("CartPole-v1"), envpool.GymnasiumEnvPool)
    with pytest.raises(AttributeError):
        _ = envpool.nothing
    with pytest.warns(UserWarning, match="no effect"):
        envpool.make_gym("CartPole-v1").seed(1)
