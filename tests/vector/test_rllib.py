"""Worlds in RLlib's new API stack: batches, worlds with several agents, episode ends, and PPO."""

import copy
import importlib
import logging
import pickle
import sys

import gymnasium
import numpy as np
import pytest
from meadow import MEADOW, SKY
from thorough import THOROUGH, only_thorough
from varying_agents import OFFICE

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.registry import registry

for package in ("ray", "scipy", "tree", "pettingzoo"):
    pytest.importorskip(package, reason="needs pip install 'worldloom[rllib]'")

import ray  # noqa: E402
from ray.rllib.algorithms.ppo import PPOConfig  # noqa: E402
from ray.rllib.core.rl_module.default_model_config import DefaultModelConfig  # noqa: E402
from ray.rllib.env.multi_agent_env_runner import MultiAgentEnvRunner  # noqa: E402
from ray.rllib.env.single_agent_env_runner import SingleAgentEnvRunner  # noqa: E402
from ray.rllib.utils.pre_checks.env import check_multiagent_environments  # noqa: E402

from worldloom.vector.adapters.rllib import RllibMultiAgentEnv, RllibVectorEnv  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


class Hunter(wl.Entity):
    place: float
    move: wl.Action(wl.Discrete(2))  # left, right
    sight: wl.Observation(2)
    reward: wl.Reward


class Hare(wl.Entity):
    place: float
    speed: wl.Action(wl.Box(0.0, 2.0, (1,)))  # to the right
    sight: wl.Observation(1)
    reward: wl.Reward


class Field(wl.World):
    width: wl.Config = 20.0


@wl.system
def hunt(hunter: Hunter, world: Field):
    hunter.place += 1.0 if hunter.move == 1 else -1.0
    hunter.reward = hunter.place


@wl.system
def flee(hare: Hare, world: Field):
    if not hare.active:
        return
    hare.place += hare.speed[0]
    hare.reward = hare.speed[0]
    if hare.place > world.width:
        hare.terminate()


@wl.system
def spread(hare: Hare, world: Field):
    hare.place = world.random(0.0, 10.0)


@wl.system
def look(hunter: Hunter):
    hunter.sight = wl.vec2(hunter.place, float(hunter.id))


@wl.system
def hide(hare: Hare):
    hare.sight[0] = hare.place


FIELD = wl.Definition(
    "Field-test",
    Field,
    {Hunter: 2, Hare: 2},
    reset=(spread,),
    step=(hunt, flee),
    observe=(look, hide),
    max_steps=9,
)
HUNTERS, HARES = ["hunter_0", "hunter_1"], ["hare_0", "hare_1"]


@pytest.fixture(scope="module", autouse=True)
def registered_worlds():
    """RLlib copies its configuration, so that worlds in it are named by their id."""
    with pytest.MonkeyPatch.context() as patch:
        for world in (SKY, FIELD):
            patch.setitem(registry._REGISTRY, world.id, world)
        yield


@pytest.fixture(scope="module", autouse=True)
def no_cluster():
    """Without workers RLlib only stores its configuration in Ray. ``make test-thorough`` starts Ray, for 10 s."""
    running = ray.is_initialized()
    if THOROUGH and not running:
        ray.init(include_dashboard=False, num_cpus=1, log_to_driver=False, logging_level=logging.ERROR)
        yield
        ray.shutdown()
        return
    with pytest.MonkeyPatch.context() as patch:
        if not running:
            patch.setattr(ray, "put", lambda value: value)
        yield
    assert ray.is_initialized() == running


def batch_config(world, num_envs: int, **env_config) -> PPOConfig:
    return (
        PPOConfig()
        .environment(RllibVectorEnv, env_config={"world": world, **env_config})
        .env_runners(num_env_runners=0, num_envs_per_env_runner=num_envs, gym_env_vectorize_mode="vector_entry_point")
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[64, 64], vf_share_layers=False))
        .debugging(seed=0, log_level="ERROR")
    )


def test_episodes_hold_their_first_and_last_observations():
    runner = SingleAgentEnvRunner(config=batch_config(SKY.id, 3, device="python", config={"pull": 0.75}))
    assert isinstance(runner.env.unwrapped, RllibVectorEnv)
    assert runner.env.metadata["autoreset_mode"] == gymnasium.vector.AutoresetMode.NEXT_STEP
    episodes = runner.sample(num_episodes=12, random_actions=True)
    assert len(episodes) == 12 and {episode.is_done for episode in episodes} == {True}
    for episode in episodes:
        heights = episode.get_observations()[:, 0]
        assert 1.0 <= heights[0] <= 2.0
        np.testing.assert_allclose(np.diff(heights), np.array(episode.get_actions())[:, 0] - 0.75, atol=1e-5)
        np.testing.assert_allclose(episode.get_rewards(), heights[1:])
        assert episode.is_terminated == (heights[-1] < 0.0)
        assert episode.is_truncated == (len(episode) == 8)
    runner.stop()


def test_seeds_of_rllib_repeat_episodes():
    heights = []
    for _ in range(2):
        runner = SingleAgentEnvRunner(config=batch_config(SKY.id, 2, device="python"))
        episodes = runner.sample(num_timesteps=2, random_actions=True)
        heights.append(sorted(float(episode.get_observations()[0][0]) for episode in episodes))
        runner.stop()
    assert heights[0] == heights[1] and heights[0][0] != heights[0][1]


def test_several_components_are_dicts():
    env = RllibVectorEnv({"world": MEADOW, "num_envs": 2, "seed": 0, "device": "python"})
    env.reset()
    actions = [env.single_action_space.sample() | {"turn": np.array([2, turn])} for turn in (2, 0)]
    observations, rewards, *_ = env.step(actions)
    assert rewards.tolist() == [3.0, 1.5] and observations["mood"].tolist() == [[1, 1], [1, 0]]


def test_a_wrong_configuration_is_one_sentence():
    with pytest.raises(InputError, match="gym_env_vectorize_mode"):
        RllibVectorEnv({"world": "CartPole-v1"})
    for environment in (RllibVectorEnv, RllibMultiAgentEnv):
        with pytest.raises(InputError, match="needs the world's id"):
            environment({"num_envs": 2})
        with pytest.raises(ModuleNotFoundError, match="no_such_module"):
            environment({"num_envs": 2, "world": "Elsewhere-v0", "module": "no_such_module"})


@only_thorough  # the next tests train two policies
def test_ppo_learns_to_balance():
    config = batch_config("CartPole-v1", 16).training(
        train_batch_size=512, minibatch_size=128, num_epochs=6, lr=3e-3, gamma=0.98, lambda_=0.9
    )
    algorithm = config.build_algo()
    returns = [algorithm.train()["env_runners"]["episode_return_mean"] for _ in range(6)]
    algorithm.stop()
    assert returns[0] < 30.0 and returns[-1] > returns[0] + 10.0


@pytest.fixture
def env():
    made = RllibMultiAgentEnv({"world": FIELD, "device": "python", "seed": 0, "config": {"width": 12.0}})
    yield made
    made.close()


def act(env, speed: float) -> dict:
    actions = dict.fromkeys(HUNTERS, 1) | dict.fromkeys(HARES, np.array([speed], np.float32))
    return {agent: actions[agent] for agent in env._env.agents}


def test_agents_leave_one_by_one_and_the_world_ends_with_its_last_hare(env):
    check_multiagent_environments(env)
    observations, _ = env.reset(seed=1)
    assert list(observations) == env.agents == env.possible_agents == HUNTERS + HARES
    left = []
    while len(left) < 2:
        observations, rewards, terminations, truncations, _ = env.step(act(env, 1.5))
        assert set(observations) == set(rewards) == set(env.agents) and not set(left) & set(env.agents)
        left += [agent for agent in HARES if terminations.get(agent)]
        assert terminations["__all__"] == (len(left) == 2) and not any(truncations.values())
    assert set(left) == set(HARES) and terminations["hunter_0"]
    assert set(env.reset()[0]) == set(HUNTERS + HARES)


def test_a_limit_of_time_truncates_all_that_are_left(env):
    env.reset(seed=1)
    for _ in range(9):
        *_, terminations, truncations, _ = env.step(act(env, 0.0))
    assert truncations["__all__"] and not any(terminations.values())


def test_a_termination_at_the_limit_of_time_is_no_truncation(env):
    env.reset(seed=1)
    for _ in range(8):
        env.step(act(env, 0.0))
    env.simulation["Hare"].place.assign(np.full((1, 2), 13.0, np.float32))
    *_, terminations, truncations, _ = env.step(act(env, 0.0))
    assert all(terminations.values()) and not any(truncations.values())


def multi_agent_config(**env_config) -> PPOConfig:
    return (
        PPOConfig()
        .environment(RllibMultiAgentEnv, env_config={"world": FIELD.id, "device": "python", **env_config})
        .env_runners(num_env_runners=0, num_envs_per_env_runner=2, rollout_fragment_length=36)
        .multi_agent(
            policies={"hunter", "hare"}, policy_mapping_fn=lambda agent, episode, **_: agent.rpartition("_")[0]
        )
        .rl_module(model_config=DefaultModelConfig(fcnet_hiddens=[32], vf_share_layers=False))
        .training(train_batch_size=72, minibatch_size=72, num_epochs=2)
        .debugging(seed=0, log_level="ERROR")
    )


def test_episodes_of_agents_are_terminated_or_truncated():
    """A truncated agent bootstraps, a terminated one does not: no agent may have the wrong flag."""
    runner = MultiAgentEnvRunner(config=multi_agent_config(config={"width": 16.0}))
    for k, world in enumerate(runner.env.envs):
        for space in world.unwrapped.action_spaces.values():
            space.seed(k)
    ends = []
    for episode in runner.sample(num_episodes=8, random_actions=True):
        hares_left = [episode.agent_episodes[hare].get_observations(-1)[0] > 16.0 for hare in HARES]
        assert episode.is_terminated == all(hares_left) and episode.is_truncated == (not all(hares_left))
        assert len(episode) == 9 or all(hares_left)
        for agent, own in episode.agent_episodes.items():
            left = hares_left[HARES.index(agent)] if agent in HARES else all(hares_left)
            assert own.is_terminated == left and (own.is_truncated or left)
            ends.append(left)
    assert {True, False} == set(ends)
    runner.stop()


def test_copies_continue_from_the_same_state(env):
    batch = RllibVectorEnv({"world": SKY.id, "num_envs": 2, "seed": 0, "device": "python"})
    batch.reset()
    env.reset(seed=2)
    lift, actions = [np.array([0.5], np.float32)] * 2, act(env, 1.0)
    copies = [(copy.deepcopy(batch), copy.deepcopy(env)), tuple(map(pickle.loads, map(pickle.dumps, (batch, env))))]
    expected = batch.step(lift)[0], env.step(actions)[0]
    for other_batch, other_env in copies:
        np.testing.assert_array_equal(other_batch.step(lift)[0], expected[0])
        observations = other_env.step(actions)[0]
        assert {agent: seen.tolist() for agent, seen in observations.items()} == {
            agent: seen.tolist() for agent, seen in expected[1].items()
        }


def test_ppo_trains_two_policies():
    algorithm = multi_agent_config().build_algo()
    results = [algorithm.train() for _ in range(2)]
    algorithm.stop()
    assert set(results[-1]["learners"]) == {"hunter", "hare", "__all_modules__"}
    for policy in ("hunter", "hare"):
        assert np.isfinite(results[-1]["learners"][policy]["total_loss"])
    assert 1.0 < results[-1]["env_runners"]["episode_len_mean"] <= 9.0


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "ray.rllib.env.multi_agent_env", None)
    monkeypatch.delitem(sys.modules, "worldloom.vector.adapters.rllib")
    with pytest.raises(InputError, match="pip install"):
        importlib.import_module("worldloom.vector.adapters.rllib")


def test_agents_that_come_and_go_have_padded_rows_only():
    with pytest.raises(InputError, match=r"the agents of world 'Office-test' come and go.*use RllibVectorEnv"):
        RllibMultiAgentEnv({"world": OFFICE})
    env = RllibVectorEnv({"world": OFFICE, "num_envs": 2})
    observations, infos = env.reset(seed=0)
    assert observations.shape == (2, 3, 2) and infos["active"].tolist() == [[True, True, False]] * 2
