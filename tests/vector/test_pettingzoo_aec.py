"""Turn-based worlds with one agent at a time: PettingZoo's conformance tests, turns, rewards and errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import worldloom as wl

pytest.importorskip("pettingzoo", reason="needs pip install pettingzoo")

from pettingzoo.test import api_test, parallel_api_test, seed_test

from worldloom.vector import WorldAecEnv, WorldParallelEnv

SMALL = "HanabiSmall-v0"


def test_pettingzoos_conformance_tests() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # observations are dictionaries with a mask
        api_test(WorldAecEnv(SMALL, device="python", players=3), num_cycles=40)
        seed_test(lambda: WorldAecEnv(SMALL, device="python"), num_cycles=10)
        parallel_api_test(WorldParallelEnv(SMALL, device="python"), num_cycles=20)


def test_agents_take_turns_until_the_game_ends() -> None:
    env, rng = WorldAecEnv(SMALL, device="python", render_mode="rgb_array"), np.random.default_rng(0)
    env.reset(seed=3)
    acted, returns = [], dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        observation, reward, terminated, truncated, _ = env.last()
        returns[agent] += reward
        if terminated or truncated:
            env.step(None)
            continue
        acted.append(agent)
        env.step(int(rng.choice(np.flatnonzero(observation["action_mask"]))))
    assert acted == [f"player_{turn % 2}" for turn in range(len(acted))] and len(acted) > 2
    score = float(env.simulation.world.score.numpy()[0])
    assert set(returns.values()) == {score} and env.agents == []
    assert env.render().ndim == 3
    env.close()


def test_a_forbidden_action_is_an_error_and_changes_nothing() -> None:
    env = WorldAecEnv(SMALL, device="python")
    env.reset(seed=0)
    before = env.observe("player_0")["observation"].copy()
    with pytest.raises(wl.InputError, match="player_0 may not take action 0 now: its action_mask allows 2, 3, "):
        env.step(0)
    with pytest.raises(wl.InputError, match=r"player_0 needs an action of Discrete\(12\), not 12"):
        env.step(12)
    np.testing.assert_array_equal(env.observe("player_0")["observation"], before)
    assert env.agent_selection == "player_0" and env.simulation.errors() == []
    env.step(2)
    assert env.agent_selection == "player_1"


def test_a_world_without_turns_is_refused() -> None:
    with pytest.raises(wl.InputError, match="world 'CartPole-v1' is not turn-based: it needs one kind of agent and"):
        WorldAecEnv("CartPole-v1", device="python")
