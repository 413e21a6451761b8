"""Tuned settings: they change what they say, and every entry is of a world and an algorithm that there are."""

import pytest

from worldloom.atari.games import GAMES as ALL_GAMES
from worldloom.core.registry import definition, registered, unavailable
from worldloom.learn import defaults
from worldloom.learn.algorithms import ALGORITHMS
from worldloom.learn.atari_defaults import GAMES, suits
from worldloom.learn.defaults import SHARED, TUNED, built, known, tuned
from worldloom.learn.ppo import PPOConfig
from worldloom.learn.seats import acting_kinds, parse_members


def test_settings_change_as_the_entry_says(monkeypatch):
    monkeypatch.setitem(defaults.TUNED, ("Pond-v0", "ppo"), {"gamma": 0.9, "policy.hidden": (7,), "policy.shared": True})
    config = tuned("Pond-v0", "ppo", PPOConfig)
    assert isinstance(config, PPOConfig)
    assert (config.gamma, config.policy.hidden, config.policy.shared) == (0.9, (7,), True)
    assert (config.epochs, config.policy.activation) == (PPOConfig().epochs, PPOConfig().policy.activation)


def test_worlds_without_an_entry_get_the_algorithms_own():
    assert tuned("Nowhere-v0", "ppo", PPOConfig) == PPOConfig()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_entry_can_be_used(algorithm):
    for world, name in TUNED:
        assert world in {**registered(), **unavailable()} and name in ALGORITHMS
        if name == algorithm:
            tuned(world, algorithm, ALGORITHMS[algorithm][1])


@pytest.mark.parametrize("gpu", [True, False])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_ataris_games_have_settings_on_every_device(algorithm, gpu):
    for game in ("Pong", "Alien", *(name for name, _ in GAMES)):
        config = built(ALGORITHMS[algorithm][1], suits(f"{game}-v5", algorithm, gpu))
        assert config.clip_rewards and config.episodic_life and config.precision == ("bf16" if gpu else "fp32")
        assert (config.num_envs >= 128) == gpu
        if algorithm == "vtrace":
            assert config.num_envs % config.batches == 0
        if algorithm == "ppo":
            assert config.num_steps % config.minibatches == 0 or config.num_envs % config.minibatches == 0


def test_a_games_settings_are_found_however_it_is_named():
    wanted = suits("Pong-v5", "ppo", True)
    assert wanted != suits("Alien-v5", "ppo", True)
    assert suits("ALE/Pong-v5", "ppo", True) == suits("Pong-v5:frame_skip=2", "ppo", True) == wanted
    assert suits("Pong-v5+Breakout-v5", "ppo", True) == suits("Alien-v5", "ppo", True)
    assert tuned("Pong-v5:noop_max=1", "ppo", PPOConfig, "cpu") == tuned("Pong-v5", "ppo", PPOConfig, "cpu") == built(PPOConfig, suits("Pong-v5", "ppo", False))
    assert known("Pong-v5", "dqn") and known("CartPole-v1", "ppo") and not known("Nowhere-v0", "ppo")


def test_every_game_with_settings_of_its_own_is_one():
    assert {name for name, _ in GAMES} <= {game.id for game in ALL_GAMES} and {name for _, name in GAMES} <= set(ALGORITHMS)


def test_whoever_shares_a_policy_is_there_and_everybody_has_one():
    for world, policies in SHARED.items():
        made = definition(world)
        assert {member.table for agents in policies.values() for member in parse_members(agents, made)} == set(acting_kinds(made))
