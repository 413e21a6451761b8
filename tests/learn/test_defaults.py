"""Tuned settings: they change what they say, and every entry is of a world and an algorithm that there are."""

import pytest

from worldloom.core.registry import definition, registered, unavailable
from worldloom.learn import defaults
from worldloom.learn.algorithms import ALGORITHMS
from worldloom.learn.defaults import SHARED, TUNED, tuned
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


def test_whoever_shares_a_policy_is_there_and_everybody_has_one():
    for world, policies in SHARED.items():
        made = definition(world)
        assert {member.table for agents in policies.values() for member in parse_members(agents, made)} == set(acting_kinds(made))
