"""PettingZoo environments of worlds whose agents come and go."""

import copy
import runpy
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from varying_agents import OFFICE, QUIT, ROWS, work

import worldloom as wl
from worldloom.core.base.errors import InputError

pytest.importorskip("pettingzoo", reason="needs pip install pettingzoo")

from pettingzoo.test import api_test, parallel_api_test, parallel_seed_test
from pettingzoo.utils import parallel_to_aec

from worldloom.vector.adapters.pettingzoo import WorldParallelEnv, WorldParallelVectorEnv
from worldloom.vector.adapters.pettingzoo_aec import WorldAecEnv

EXAMPLE = Path(__file__).parents[2] / "examples" / "foragers.py"


@pytest.fixture
def foragers(monkeypatch: pytest.MonkeyPatch) -> wl.Definition:
    from worldloom.core.registry import registry

    monkeypatch.setattr(registry, "_REGISTRY", dict(registry._REGISTRY))
    world: wl.Definition = runpy.run_path(str(EXAMPLE))["WORLD"]
    return world


def environment(**options: object) -> WorldParallelEnv:
    env = WorldParallelEnv(OFFICE, device="python", seed=0, **options)
    env.reset()
    return env


def act(env: WorldParallelEnv, **actions: int) -> tuple:
    return env.step({agent: actions.get(agent, 0) for agent in env.agents})


@pytest.mark.parametrize("name", ["office", "foragers"])
def test_pettingzoos_conformance_tests_pass(name: str, foragers: wl.Definition) -> None:
    world = OFFICE if name == "office" else foragers
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parallel_api_test(WorldParallelEnv(world, device="python"), num_cycles=80)
        parallel_seed_test(lambda: WorldParallelEnv(world, device="python"), num_cycles=20)
        api_test(parallel_to_aec(WorldParallelEnv(world, device="python")), num_cycles=20)


def test_agents_come_and_go() -> None:
    env = environment(hires=1)
    assert env.agents == ["worker_0", "worker_1"]
    observations, rewards, terminations, truncations, infos = act(env, worker_0=QUIT, worker_1=2)
    assert env.agents == ["worker_1", "worker_2"]
    assert rewards == {"worker_0": -5.0, "worker_1": 2.0, "worker_2": 0.0}
    assert terminations == {"worker_0": True, "worker_1": False, "worker_2": False}
    assert not any(truncations.values())
    assert {agent: seen.tolist() for agent, seen in observations.items()} == {
        "worker_0": [0.0, 0.0],
        "worker_1": [1.0, 1.0],
        "worker_2": [2.0, 0.0],
    }
    assert infos["worker_0"] == {"active": False} and infos["worker_2"]["active"]
    assert set(act(env)[0]) == {"worker_1", "worker_2", "worker_3"}


def test_a_new_agent_in_a_used_row_has_a_new_name() -> None:
    env = environment(staff=ROWS)
    observations, rewards, terminations, _, _ = act(env, worker_1=QUIT)
    assert env.agents == ["worker_0", "worker_2", "worker_3"]
    assert terminations["worker_1"] and not terminations["worker_3"]
    assert rewards["worker_1"] == -5.0 and rewards["worker_3"] == 0.0
    assert observations["worker_1"].tolist() == [0.0, 0.0] and observations["worker_3"].tolist() == [3.0, 0.0]
    assert act(env, worker_3=2)[1]["worker_3"] == 2.0  # it acts in the row of the one that it replaced


def test_possible_agents_are_fixed_and_have_spaces() -> None:
    env = environment()
    assert env.possible_agents == [f"worker_{number}" for number in range(ROWS * 11)]  # at most 10 steps
    assert env.action_space("worker_32").n == 4 and env.observation_space("worker_32").shape == (2,)
    assert len(environment(max_steps=0).possible_agents) == 100 * ROWS


def test_the_end_of_the_world_ends_all_agents() -> None:
    env = environment(max_steps=1)
    _, _, terminations, truncations, _ = act(env, worker_0=QUIT)
    assert env.agents == []
    assert terminations == {"worker_0": True, "worker_1": False}
    assert truncations == {"worker_0": False, "worker_1": True}  # one hired in the last step never appears
    with pytest.raises(InputError, match=r"call reset\(\) first"):
        env.step({})
    env.reset()
    assert env.agents == ["worker_0", "worker_1"]


def test_the_episode_is_truncated_when_names_are_used_up() -> None:
    env = environment(max_agents=3)
    act(env)
    assert env.agents == ["worker_0", "worker_1", "worker_2"]
    _, _, terminations, truncations, _ = act(env, worker_0=QUIT)
    assert env.agents == [] and terminations["worker_0"]
    assert truncations == {"worker_0": False, "worker_1": True, "worker_2": True}
    with pytest.raises(InputError, match=r"call reset\(\) first"):
        env.step({})
    with pytest.raises(InputError, match="max_agents is 2, but a world may have 3 agents at once: raise it"):
        environment(max_agents=2)
    with pytest.raises(InputError, match=r"world 'CartPole-v1' is fixed: leave max_agents out"):
        WorldParallelEnv("CartPole-v1", device="python", max_agents=2)


def test_a_world_without_agents_continues() -> None:
    env = environment(staff=1, hires=0)
    act(env, worker_0=QUIT)
    assert env.agents == []
    assert env.step({}) == ({}, {}, {}, {}, {})


def test_copies_continue_with_the_same_agents() -> None:
    env = environment()
    act(env, worker_0=QUIT)
    other = copy.deepcopy(env)
    for step in range(6):
        actions = {agent: (step + number) % 4 for number, agent in enumerate(env.agents)}
        one, two = env.step(actions), other.step(actions)
        assert env.agents == other.agents and one[1] == two[1]


def test_batches_have_padded_rows() -> None:
    env = WorldParallelVectorEnv(OFFICE, 2, device="python", seed=0)
    observations, infos = env.reset()
    assert observations["worker"].shape == (2, ROWS, 2)
    assert infos["worker"]["active"].tolist() == [[True, True, False]] * 2
    _, rewards, terminations, _, infos = env.step({"worker": np.array([[QUIT, 1, 2], [0, 1, 2]], np.int32)})
    assert rewards["worker"].tolist() == [[-5.0, 1.0, 0.0], [0.0, 1.0, 0.0]]
    assert terminations["worker"].tolist() == [[True, False, False], [False] * 3]
    assert infos["worker"]["active"].tolist() == [[False, True, True], [True] * 3]


class Turns(wl.World):
    turn: int
    hired: int
    hires: wl.Config = 1
    staff: wl.Config = 2


def test_turns_need_a_fixed_number_of_agents() -> None:
    world = replace(OFFICE, id="Turns-test", world=Turns, reset=(), step=(work,))
    with pytest.raises(InputError, match=r"the number of agents of world 'Turns-test' varies.*parallel_to_aec"):
        WorldAecEnv(world, device="python")
