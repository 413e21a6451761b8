"""Programs in the form of EnvPool's README, examples and paper, with another import line."""

# ruff: noqa: RUF059  (the programs keep the names that they unpack)

import numpy as np
import pytest

import worldloom.envpool as envpool
from worldloom.envpool import gym_v21

pytest.importorskip("ale_py", reason="it holds the ROM of Pong")
STEPS = 30


def test_readme_synchronous():
    env = envpool.make("Pong-v5", env_type="gymnasium", num_envs=10)
    obs, _ = env.reset()
    assert obs.shape == (10, 4, 84, 84)
    act = np.zeros(10, dtype=int)
    obs, rew, term, trunc, info = env.step(act)
    assert obs.shape == (10, 4, 84, 84) and rew.shape == term.shape == trunc.shape == (10,)


def test_readme_asynchronous():
    num_envs, batch_size = 8, 2
    env = envpool.make("Pong-v5", env_type="gymnasium", num_envs=num_envs, batch_size=batch_size)
    action_num = env.action_space.n
    env.async_reset()
    seen = set()
    for _ in range(STEPS):
        obs, rew, term, trunc, info = env.recv()
        env_id = info["env_id"]
        assert obs.shape == (batch_size, 4, 84, 84)
        seen |= set(env_id.tolist())
        env.send(np.random.randint(action_num, size=batch_size), env_id)
    assert seen == set(range(num_envs))
    env.close()


@pytest.mark.parametrize("make", ["make_gym", "make_gymnasium"])
def test_example_synchronous(make):
    num_envs = 4
    env = getattr(envpool, make)("Pong-v5", num_envs=num_envs)
    obs, _ = env.reset()
    for _ in range(STEPS):
        obs, rew, term, trunc, info = env.step(np.random.randint(env.action_space.n, size=num_envs))
    obs, _ = env.reset(np.array([1, 3]))
    assert obs.shape == (2, 4, 84, 84)
    env_id = np.array([3, 2, 0])
    result = env.step(np.array([0, 0, 2]), env_id)
    np.testing.assert_allclose(result[-1]["env_id"], env_id)
    assert result[0].shape == (3, 4, 84, 84)


def test_example_synchronous_dm():
    num_envs = 4
    env = envpool.make_dm("Pong-v5", num_envs=num_envs)
    action_num = env.action_spec().num_values
    ts = env.reset()
    for _ in range(STEPS):
        ts = env.step(np.random.randint(action_num, size=num_envs))
    ts = env.reset(np.array([1, 3]))
    assert ts.observation.obs.shape == (2, 4, 84, 84)
    env_id = np.array([3, 2, 0])
    ts = env.step(np.array([0, 0, 2]), env_id)
    np.testing.assert_allclose(ts.observation.env_id, env_id)


def test_example_asynchronous():
    num_envs, batch_size = 8, 4
    env = envpool.make_dm("Pong-v5", num_envs=num_envs, batch_size=batch_size)
    action_num = env.action_spec().num_values
    ts = env.reset()
    for _ in range(STEPS):
        assert len(ts.observation.env_id) == batch_size
        ts = env.step(np.random.randint(action_num, size=batch_size), ts.observation.env_id)
    env.close()
    env = envpool.make_gym("Pong-v5", num_envs=num_envs, batch_size=batch_size)
    obs, info = env.reset()
    for _ in range(STEPS):
        result = env.step(np.random.randint(action_num, size=batch_size), info["env_id"])
        obs, info = result[0], result[-1]
        assert len(info["env_id"]) == len(obs) == batch_size
    env.close()


def test_example_make_spec():
    spec = envpool.make_spec("Pong-v5", num_envs=4)
    assert spec.config.num_envs == 4 and spec.config.stack_num == 4
    assert spec.action_array_spec["action"].dtype == np.int32
    assert spec.observation_spec().obs.shape == (4, 84, 84)
    assert spec.action_spec().num_values == spec.action_space.n == 6
    env = envpool.make("Pong-v5", env_type="gym")
    assert len(env) == 1 and env.observation_space.shape == (4, 84, 84)


def test_example_first_step_of_one_environment():
    env = envpool.make_gym("Ant-v4")
    info = env.step(np.array([env.action_space.sample()]), np.array([0]))[-1]
    assert "x_position" in info and info["elapsed_step"].tolist() == [0]


# -- the appendix of the paper: gym before version 0.26


def test_paper_synchronous_gym():
    env = gym_v21.make("Pong-v5", env_type="gym", num_envs=10)
    obs = env.reset()
    assert obs.shape == (10, 4, 84, 84)
    act = np.zeros(10, dtype=int)
    obs, rew, done, info = env.step(act, env_id=np.arange(10))
    assert info["env_id"].tolist() == list(range(10)) and done.dtype == bool


def test_paper_synchronous_dm():
    env = gym_v21.make("Pong-v5", env_type="dm", num_envs=10)
    assert env.reset().observation.obs.shape == (10, 4, 84, 84)
    timestep = env.step(np.zeros(10, dtype=int), env_id=np.arange(10))
    assert timestep.observation.env_id.tolist() == list(range(10))
    assert timestep.reward.shape == timestep.discount.shape == timestep.step_type.shape == (10,)


def test_paper_asynchronous_dm():
    env = gym_v21.make_dm("Pong-v5", num_envs=10, batch_size=9)
    action_num = env.action_spec().num_values
    timestep = env.reset()
    env_id = timestep.observation.env_id
    for _ in range(STEPS):
        assert len(set(env_id.tolist())) == 9
        timestep = env.step(np.random.randint(action_num, size=len(env_id)), env_id)
        env_id = timestep.observation.env_id
    env.close()


def test_paper_asynchronous_dm_with_send_and_recv():
    env = gym_v21.make_dm("Pong-v5", num_envs=10, batch_size=9)
    action_num = env.action_spec().num_values
    env.async_reset()
    for _ in range(STEPS):
        env_id = env.recv().observation.env_id
        env.send(np.random.randint(action_num, size=len(env_id)), env_id)
    env.close()


def test_paper_asynchronous_gym():
    num_envs, batch_size = 10, 9
    env = gym_v21.make("Pong-v5", env_type="gym", num_envs=num_envs, batch_size=batch_size)
    env.async_reset()
    for _ in range(STEPS):
        obs, rew, done, info = env.recv()
        env_id = info["env_id"]
        env.send(np.random.randint(6, size=len(env_id)), env_id)
    env.close()


def test_gym_v21_reports_truncations():
    env = gym_v21.make_gym("CartPole-v1", num_envs=2, max_episode_steps=3, gym_reset_return_info=True)
    obs, info = env.reset()
    for _ in range(3):
        obs, rew, done, info = env.step(np.array([0, 1]))
    assert done.all() and info["TimeLimit.truncated"].all()
