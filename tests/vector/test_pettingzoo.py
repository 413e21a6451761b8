"""Multi-agent worlds: PettingZoo's conformance tests, agents that leave, several kinds, and batches of worlds."""

import dataclasses
import importlib
import sys
import warnings

import gymnasium
import numpy as np
import pytest
import torch

import worldloom as wl
from worldloom.core.base.errors import InputError

pytest.importorskip("pettingzoo", reason="needs pip install pettingzoo")

from pettingzoo.test import parallel_api_test, parallel_seed_test

from worldloom.vector.adapters.pettingzoo import WorldParallelEnv, WorldParallelVectorEnv


class HillRunner(wl.Entity):
    """Waits (0), runs (1), or gives up (2); terminates at the top."""

    move: wl.Action(wl.Discrete(3))
    height: float
    sight: wl.Observation(2)
    breath: wl.Info(float) = 1.0
    reward: wl.Reward


class Judge(wl.Entity):
    """Never ends individually, and is rewarded for its flag."""

    flag: wl.Action(wl.Box(-1.0, 1.0, (2,)))
    loud: wl.Action(wl.MultiDiscrete(2, 4))
    tall: wl.Observation(1)
    reward: wl.Reward


class Tree(wl.Entity):
    """Has no action, so it is no agent."""

    leaves: int


class Hill(wl.World):
    top: wl.Config = 3.0
    rain: wl.Observation(wl.Discrete(4))
    cheer: wl.Reward


@wl.system
def climb(runner: HillRunner, world: Hill):
    if not runner.active:
        return
    if runner.move == 1:
        runner.height += world.random(0.5, 1.0)
        runner.reward = 1.0
    if runner.move == 2:
        runner.truncate()
    if runner.height >= world.top:
        runner.terminate()


@wl.system
def wave(judge: Judge, world: Hill):
    judge.reward = judge.flag[0] + 10.0 * float(judge.loud[1])
    world.cheer += 0.25


@wl.system
def line_up(runner: HillRunner, world: Hill):
    runner.height = world.random(0.0, 0.1)


@wl.system
def look(runner: HillRunner):
    runner.sight = wl.vec2(runner.height, float(runner.id))


@wl.system
def watch(judge: Judge, world: Hill):
    judge.tall[0] = 0.0
    for runner in world.all(HillRunner):
        judge.tall[0] = max(judge.tall[0], runner.height)


@wl.system
def pour(world: Hill):
    world.rain = world.step % 4


HILL = wl.Definition(
    "Hill-test",
    Hill,
    {HillRunner: 3, Judge: 1, Tree: 2},
    reset=(line_up,),
    step=(climb, wave),
    observe=(look, watch, pour),
    max_steps=12,
)
RUNNERS, ALL = (
    ["hill_runner_0", "hill_runner_1", "hill_runner_2"],
    ["hill_runner_0", "hill_runner_1", "hill_runner_2", "judge_0"],
)
QUIET = {"flag": np.zeros(2, np.float32), "loud": np.zeros(2, np.int64)}


def acts(env: WorldParallelEnv, *moves: int) -> dict:
    """Actions of the runners still in the episode, and of an idle judge."""
    given = {**dict(zip(RUNNERS, moves, strict=True)), "judge_0": QUIET}
    return {agent: given[agent] for agent in env.agents}


@pytest.fixture
def env():
    return WorldParallelEnv(HILL, device="python", seed=0)


def test_its_own_tests_pass():
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # most of what it finds it only warns of
        parallel_api_test(WorldParallelEnv(HILL, device="python"), num_cycles=40)
        parallel_api_test(WorldParallelEnv("CartPole-v1"), num_cycles=600)
    parallel_seed_test(lambda: WorldParallelEnv(HILL, device="python"), num_cycles=10)


def test_agents_are_the_entities_that_act(env):
    assert env.possible_agents == ALL
    assert env.action_space("hill_runner_1") == gymnasium.spaces.Discrete(3)
    assert set(env.action_space("judge_0").spaces) == {"flag", "loud"}
    observations, infos = env.reset(seed=3)
    assert observations["hill_runner_2"]["sight"][1] == 2.0
    assert infos["hill_runner_0"] == {"breath": 1.0, "active": True}
    for agent in ALL:
        assert env.observation_space(agent).contains(observations[agent])


def test_agents_leave_one_by_one(env):
    env.reset()
    _, rewards, terminations, truncations, infos = env.step(acts(env, 1, 2, 0))
    assert rewards == {
        "hill_runner_0": 1.25,
        "hill_runner_1": 0.25,
        "hill_runner_2": 0.25,
        "judge_0": 0.25,
    }  # their own, and the world's cheer
    assert [truncations[a] for a in ALL] == [False, True, False, False] and not any(terminations.values())
    assert env.agents == ["hill_runner_0", "hill_runner_2", "judge_0"]
    assert not infos["hill_runner_1"]["active"]
    while "hill_runner_0" in env.agents:
        observations, *_, terminations, truncations, _ = env.step(acts(env, 1, 0, 0))
        assert "hill_runner_1" not in observations
    assert terminations["hill_runner_0"] and observations["hill_runner_0"]["sight"][0] >= 3.0
    assert not terminations["judge_0"]  # a judge has no end of its own
    *_, terminations, truncations, _ = env.step(acts(env, 0, 0, 2))
    assert truncations["hill_runner_2"] and not terminations["judge_0"]
    assert truncations["judge_0"]  # the world is over when its runners have left, cut off as the last of them was
    assert env.agents == []
    with pytest.raises(InputError, match="call reset"):
        env.step({})
    env.reset()
    assert env.agents == ALL


def test_a_limit_of_time_ends_it_for_all(env):
    env.reset()
    for _ in range(12):
        *_, terminations, truncations, _ = env.step(acts(env, 0, 0, 0))
    assert env.agents == [] and all(truncations.values()) and not any(terminations.values())


def test_several_actions_of_one_agent(env):
    env.reset()
    actions = acts(env, 0, 0, 0) | {"judge_0": {"flag": np.array([0.5, 0.0], np.float32), "loud": np.array([0, 3])}}
    assert env.step(actions)[1]["judge_0"] == 30.75


@pytest.mark.parametrize("given", [{"hill_runner_0": 1}, dict.fromkeys(RUNNERS, 3)])
def test_wrong_actions_are_named(env, given: dict):
    env.reset()
    with pytest.raises(InputError, match=r"hill_runner_\d needs an action of Discrete\(3\)"):
        env.step(given)


def test_worlds_without_agents_are_refused():
    with pytest.raises(InputError, match="has no agents"):
        WorldParallelEnv(wl.Definition("Wood-test", Hill, {Tree: 2}), device="python")


def test_agents_whose_number_varies_are_refused():
    with pytest.raises(InputError, match="the number of 'HillRunner' in world 'Climb-test' varies"):
        WorldParallelEnv(wl.Definition("Climb-test", Hill, {HillRunner: wl.UpTo(2)}), device="python")


def batch_of(backend: str) -> WorldParallelVectorEnv:
    return WorldParallelVectorEnv(HILL, 5, seed=0, backend=backend)


def batched_moves(backend: str, move: int) -> dict:
    moves = {
        "hill_runner": np.full((5, 3), move),
        "judge": {"flag": np.zeros((5, 1, 2), np.float32), "loud": np.zeros((5, 1, 2), np.int32)},
    }
    if backend == "numpy":
        return moves
    return {
        "hill_runner": torch.from_numpy(moves["hill_runner"]),
        "judge": {k: torch.from_numpy(v) for k, v in moves["judge"].items()},
    }


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_a_batch_has_arrays_for_each_kind(backend: str):
    env = batch_of(backend)
    observations, infos = env.reset(seed=1)
    assert observations["hill_runner"]["sight"].shape == (5, 3, 2) and observations["judge"]["tall"].shape == (5, 1, 1)
    assert observations["hill_runner"]["rain"].shape == (5, 3)  # the world's observation, for each of its runners
    assert infos["hill_runner"]["active"].all() and infos["judge"]["active"].shape == (5, 1)
    assert env.observation_space("hill_runner")["sight"].shape == (5, 3, 2) and env.action_space(
        "hill_runner"
    ).shape == (5, 3)
    moves = batched_moves(backend, 0)
    moves["hill_runner"][2, 1] = 2
    observations, rewards, terminations, truncations, infos = env.step(moves)
    assert [tuple(d["hill_runner"].shape) for d in (rewards, terminations, truncations)] == [(5, 3)] * 3
    assert np.argwhere(np.asarray(truncations["hill_runner"])).tolist() == [[2, 1]]
    assert not infos["hill_runner"]["active"][2, 1] and int(infos["hill_runner"]["active"].sum()) == 14
    env.close()


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_a_batch_keeps_the_last_observations(backend: str):
    env = batch_of(backend)
    env.reset()
    for _ in range(12):
        observations, _, terminations, _, infos = env.step(batched_moves(backend, 1))
        if terminations["judge"].any():
            break
    over = infos["judge"]["_final_obs"]
    assert over.tolist() == terminations["judge"][:, 0].tolist()
    assert (infos["judge"]["final_obs"]["tall"][over] >= 3.0).all()
    assert (observations["judge"]["tall"][over] <= 0.1).all() and infos["hill_runner"]["active"][over].all()


def test_a_trainer_takes_its_agents_that_leave(race: wl.Definition):
    """TorchRL's wrapper of PettingZoo environments."""
    pytest.importorskip("torchrl", reason="needs pip install torchrl")
    from torchrl.envs import PettingZooWrapper
    from torchrl.envs.utils import check_env_specs

    env = PettingZooWrapper(
        WorldParallelEnv(race, device="python", goal=5), use_mask=True, done_on_any=False, categorical_actions=True
    )
    check_env_specs(env)
    moves = torch.tensor([0, 1]), torch.zeros(2, dtype=torch.int64)  # the second runner leaves at once
    step = iter(range(10))
    data = env.rollout(10, policy=lambda td: td.set(("runner", "action"), moves[min(next(step), 1)]))
    assert data.shape == (5,)
    assert data["runner", "mask"].tolist() == [[True, True]] + [[True, False]] * 4
    assert data["next", "runner", "reward"][..., 0].tolist() == [[1.0, 1.0]] + [[1.0, 0.0]] * 4


def test_it_renders_what_the_world_draws():
    drawn = dataclasses.replace(
        HILL, render=lambda simulation, world: np.full((2, 2, 3), simulation.world.step.numpy()[world], np.uint8)
    )
    env = WorldParallelEnv(drawn, device="python", render_mode="rgb_array")
    env.reset()
    env.step(acts(env, 0, 0, 0))
    assert env.render().tolist() == np.ones((2, 2, 3)).tolist()
    assert WorldParallelEnv(drawn, device="python").render() is None
    with pytest.raises(InputError, match="no renderer"):
        WorldParallelEnv(HILL, device="python", render_mode="rgb_array")
    with pytest.raises(InputError, match="'human', 'rgb_array' or None"):
        WorldParallelEnv(drawn, device="python", render_mode="ansi")


def test_people_see_every_step(monkeypatch):
    """PettingZoo's own test of renderers makes an environment of each mode in its metadata."""
    from pettingzoo.test import render_test
    from pettingzoo.utils import parallel_to_aec

    shown = []

    class Screen:
        def show(self, image):
            shown.append(int(image[0, 0, 0]))

        def close(self):
            shown.append("closed")

    monkeypatch.setattr("worldloom.vector.render_modes.open_screen", lambda title, fps: Screen())
    drawn = dataclasses.replace(
        HILL, render=lambda simulation, world: np.full((2, 2, 3), simulation.world.step.numpy()[world], np.uint8)
    )
    env = WorldParallelEnv(drawn, device="python", render_mode="human")
    assert env.metadata["render_modes"] == ["human", "rgb_array"]
    env.reset()
    env.step(acts(env, 0, 0, 0))
    assert env.render() is None
    env.close()
    assert shown == [0, 1, "closed"]
    env = parallel_to_aec(WorldParallelEnv(drawn, device="python"))
    assert env.metadata["render_modes"] == ["human", "rgb_array"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        render_test(
            lambda render_mode: parallel_to_aec(WorldParallelEnv(drawn, device="python", render_mode=render_mode))
        )


def test_one_world_is_the_first_of_a_batch():
    env, batch = WorldParallelEnv(HILL, seed=4), WorldParallelVectorEnv(HILL, 5, seed=4)
    env.reset(), batch.reset()
    for _ in range(3):
        one, many = env.step(acts(env, 1, 1, 1))[0], batch.step(batched_moves("numpy", 1))[0]
        np.testing.assert_array_equal(one["hill_runner_2"]["sight"], many["hill_runner"]["sight"][0, 2])


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "pettingzoo", None)
    monkeypatch.delitem(sys.modules, "worldloom.vector.adapters.pettingzoo")
    with pytest.raises(InputError, match="pip install 'pettingzoo"):
        importlib.import_module("worldloom.vector.adapters.pettingzoo")
