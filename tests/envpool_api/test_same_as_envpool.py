"""Every attribute, shape, type and key compared with the package EnvPool."""

import gymnasium
import numpy as np
import pytest
from opencv_reference import assert_environments

import worldloom.envpool as ours

theirs = pytest.importorskip("envpool", reason="EnvPool is what pools are compared with")
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")  # EnvPool lowers the precision of its own bounds

CLASSIC = ["CartPole-v1", "Pendulum-v1", "FrozenLake-v1", "MountainCar-v0", "NChain-v0", "Catch-v0"]
MUJOCO = ["Ant-v4", "Ant-v5", "HalfCheetah-v4"]
ATARI = ["Pong-v5"]
TASKS = [*CLASSIC, *MUJOCO, *ATARI]
OTHER_INFOS = {
    "FrozenLake-v1": {"prob"},
    "Ant-v4": {"reward_contact", "forward_reward"},
}
"""Infos that only one of the two has; Gymnasium's environments have those of worldloom."""
COMMON = ["num_envs", "batch_size", "max_num_players", "seed", "env_seed", "max_episode_steps", "num_threads"]


def forms(value):
    """The shape and type of every array in a nested result."""
    if isinstance(value, dict):
        return {key: forms(entry) for key, entry in value.items()}
    if isinstance(value, tuple):
        return tuple(forms(entry) for entry in value)
    return value.shape, value.dtype.name


def without(infos, task):
    return {key: value for key, value in infos.items() if key not in OTHER_INFOS.get(task, ())}


def sample_actions(space, count):
    space.seed(0)
    return np.array([space.sample() for _ in range(count)])


def same_space(one, other):
    """Equal but for the type of continuous actions: EnvPool's MuJoCo tasks take float64."""
    if one.dtype == np.float64 and other.dtype == np.float32:
        return one.shape == other.shape and np.allclose(one.low, other.low) and np.allclose(one.high, other.high)
    return one == other


@pytest.mark.parametrize("task", TASKS)
def test_attributes_and_results(task):
    pools = [module.make(task, env_type="gymnasium", num_envs=3, seed=7) for module in (theirs, ours)]
    their, our = pools
    assert our.observation_space == their.observation_space == our.single_observation_space
    assert same_space(their.action_space, our.action_space)
    for name in ("num_envs", "is_async", "render_mode", "is_vector_env"):
        assert getattr(our, name) == getattr(their, name)
    assert len(our) == len(their) == 3
    assert our.metadata["autoreset_mode"] == their.metadata["autoreset_mode"]
    assert np.array_equal(our.all_env_ids, their.all_env_ids) and our.all_env_ids.dtype == their.all_env_ids.dtype
    assert {name: our.config[name] for name in COMMON} == {name: their.config[name] for name in COMMON}
    resets = [pool.reset() for pool in pools]
    assert forms(resets[0][0]) == forms(resets[1][0])
    assert forms(without(resets[0][1], task)) == forms(without(resets[1][1], task))
    actions = sample_actions(our.action_space, 3)
    steps = [pool.step(actions) for pool in pools]
    assert forms(steps[0][:4]) == forms(steps[1][:4])
    assert forms(without(steps[0][4], task)) == forms(without(steps[1][4], task))


@pytest.mark.parametrize("task", TASKS)
def test_specs(task):
    their, our = (module.make_spec(task, num_envs=3) for module in (theirs, ours))
    assert our.observation_space == their.observation_space
    assert our.config.num_envs == their.config.num_envs == 3
    assert our.reward_threshold == their.reward_threshold
    assert list(our.action_array_spec) == list(their.action_array_spec)
    for key, spec in their.action_array_spec.items():
        own = our.action_array_spec[key]
        assert list(spec.shape) == own.shape
        assert np.allclose(spec.minimum, own.minimum) and np.allclose(spec.maximum, own.maximum)
    shared = set(our.state_array_spec) & set(their.state_array_spec)
    assert {key.removeprefix("info:") for key in set(their.state_array_spec) - shared} <= OTHER_INFOS.get(task, set())
    for key in shared:
        own, spec = our.state_array_spec[key], their.state_array_spec[key]
        assert (own.dtype, own.shape) == (spec.dtype, list(spec.shape)), key
    if task not in MUJOCO:
        assert repr(our.action_spec()) == repr(their.action_spec())
    assert our.observation_spec().obs.shape == their.observation_spec().obs.shape
    assert type(our.observation_spec().obs) is type(their.observation_spec().obs)


@pytest.mark.parametrize("task", ["CartPole-v1", "FrozenLake-v1", "Ant-v4", "CheetahRun-v1"])
def test_time_steps(task):
    their, our = (module.make_dm(task, num_envs=2, max_episode_steps=5) for module in (theirs, ours))
    assert forms(tuple(their.reset())[:3]) == forms(tuple(our.reset())[:3])
    space = ours.make_spec(task).action_space
    actions = np.zeros((2, *space.shape), space.dtype)
    for _ in range(13):
        one, other = their.step(actions), our.step(actions)
        assert forms(tuple(one)[:3]) == forms(tuple(other)[:3])
        ended = (one.step_type == 2).any() or (other.step_type == 2).any()
        if task in ("Ant-v4", "CheetahRun-v1") or not ended:  # the others draw their own ends
            assert one.step_type.tolist() == other.step_type.tolist()
            assert one.discount.tolist() == other.discount.tolist()


def follow(pool, actions, steps):
    """Rewards, flags and elapsed steps of a pool, each of shape (steps, num_envs)."""
    pool.reset()
    rows = []
    for _ in range(steps):
        _, reward, terminated, truncated, info = pool.step(actions)
        rows.append((reward.copy(), terminated.copy(), truncated.copy(), info["elapsed_step"].copy()))
    return [np.stack(column) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("task", ["CartPole-v1", "Pendulum-v1", "Ant-v4", "Pong-v5"])
def test_the_step_after_an_end_is_the_reset(task):
    for module in (theirs, ours):
        pool = module.make(task, env_type="gymnasium", num_envs=2, max_episode_steps=6, seed=1)
        actions = np.zeros((2, *pool.action_space.shape), pool.action_space.dtype)
        reward, terminated, truncated, elapsed = follow(pool, actions, 15)
        assert np.flatnonzero(truncated[:, 0]).tolist() == [5, 12], module
        assert not terminated.any(), module
        assert elapsed[:, 0].tolist() == [1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6, 0, 1], module
        assert (reward[[6, 13]] == 0.0).all(), module


def test_a_terminated_episode_is_not_truncated():
    for module in (theirs, ours):
        pool = module.make("CartPole-v1", env_type="gymnasium", num_envs=4, seed=3)
        reward, terminated, truncated, elapsed = follow(pool, np.ones(4, np.int32), 30)
        assert terminated.any() and not truncated.any()
        step, env = np.argwhere(terminated)[0]
        assert reward[step, env] == 1.0 and reward[step + 1, env] == 0.0
        assert elapsed[step + 1, env] == 0 and elapsed[step, env] == step + 1


@pytest.mark.parametrize("settings", [{}, {"episodic_life": True, "reward_clip": True}])
def test_atari_infos(settings):
    """With one no-op count and no random numbers, every array of Breakout is EnvPool's, at lost lives and ends too."""
    pools = [
        module.make("Breakout-v5", env_type="gymnasium", num_envs=1, noop_max=1, max_episode_steps=150, **settings)
        for module in (theirs, ours)
    ]
    starts = [pool.reset() for pool in pools]
    assert starts[0][1]["lives"] == starts[1][1]["lives"] == 5
    generator, ends = np.random.default_rng(0), 0
    for step in range(200):
        actions = generator.integers(0, 4, 1)
        their, our = (pool.step(actions) for pool in pools)
        assert_environments(our[0], their[0], f"step {step}")
        for one, other in zip(their[1:4], our[1:4], strict=True):
            assert np.array_equal(one, other), step
        for key in ("lives", "reward", "terminated", "elapsed_step", "env_id", "ram"):
            assert np.array_equal(their[4][key], our[4][key]), (step, key)
        ends += int((our[2] | our[3]).sum())
    assert ends


def test_partial_steps_and_resets():
    for module in (theirs, ours):
        pool = module.make("CartPole-v1", env_type="gymnasium", num_envs=4, seed=0)
        pool.reset()
        observations, info = pool.reset(np.array([1, 3]))
        assert observations.shape == (2, 4) and sorted(info["env_id"]) == [1, 3]
        result = pool.step(np.array([0, 1, 1]), np.array([3, 2, 0]))
        assert result[4]["env_id"].tolist() == [3, 2, 0]
        assert result[4]["elapsed_step"].tolist() == [1, 1, 1]
        observations, info = pool.reset(options={"reset_mask": np.array([False, True, False, False])})
        assert observations.shape == (1, 4)


def test_the_first_step_without_a_reset_is_the_reset():
    for module in (theirs, ours):
        pool = module.make("CartPole-v1", env_type="gymnasium", num_envs=3)
        *_, info = pool.step(np.zeros(1, np.int32), np.array([2]))
        assert info["elapsed_step"].tolist() == [0] and info["env_id"].tolist() == [2]


def test_gymnasiums_wrappers():
    """Those of vector environments, and those of single environments, which CleanRL derives its own from."""
    results = []
    for module in (theirs, ours):
        pool = module.make("CartPole-v1", env_type="gymnasium", num_envs=2, max_episode_steps=3)
        assert isinstance(pool, gymnasium.vector.VectorEnv) and isinstance(pool, gymnasium.Env)
        recorded = gymnasium.wrappers.vector.RecordEpisodeStatistics(pool)
        recorded.reset()
        for _ in range(3):
            *_, info = recorded.step(np.array([0, 1]))
        single = gymnasium.Wrapper(module.make("CartPole-v1", env_type="gymnasium", num_envs=2))
        results.append((info["episode"]["r"].tolist(), info["episode"]["l"].tolist(), forms(single.reset()[0])))
    assert results[0] == results[1]


def test_reset_with_a_seed_warns_and_changes_nothing():
    for module in (theirs, ours):
        pool = module.make("CartPole-v1", env_type="gymnasium", num_envs=2, seed=5)
        with pytest.warns(UserWarning, match="seed"):
            pool.reset(seed=3)


def test_a_pool_prints_and_takes_the_attributes_that_programs_assign():
    pool = ours.make_gym("CartPole-v1", num_envs=2)
    pool.num_envs, pool.is_vector_env = 2, True
    assert str(pool) == repr(pool)
    assert "num_envs=2" in str(pool)
