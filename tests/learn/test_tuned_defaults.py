"""Tuned settings: they change what they say, and every entry is of a world and an algorithm that there are."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from worldloom.atari.env.training_defaults import GAMES, atari_defaults
from worldloom.atari.games.game_table import GAMES as ALL_GAMES
from worldloom.core.base.device import resolve
from worldloom.core.model.families import family_ids
from worldloom.core.registry.registry import definition, registered, unavailable
from worldloom.learn.agents.agent_group import agent_counts, parse_agents
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.algorithms.registry import ALGORITHMS
from worldloom.learn.config import tuned_defaults as defaults
from worldloom.learn.config.tuned_defaults import (
    GPU_SETTINGS,
    POLICY_SETTINGS,
    SHARED_POLICIES,
    TUNED_SETTINGS,
    build_config,
    has_tuned_config,
    tuned_config,
)
from worldloom.learn.runs.training_request import TrainingRequest


def test_settings_change_as_the_entry_says(monkeypatch):
    monkeypatch.setitem(
        defaults.TUNED_SETTINGS, ("Pond-v0", "ppo"), {"gamma": 0.9, "policy.hidden": (7,), "policy.shared": True}
    )
    config = tuned_config("Pond-v0", "ppo", PPOConfig)
    assert isinstance(config, PPOConfig)
    assert (config.gamma, config.policy.hidden, config.policy.shared) == (0.9, (7,), True)
    assert (config.epochs, config.policy.activation) == (PPOConfig().epochs, PPOConfig().policy.activation)


def test_worlds_without_an_entry_get_the_algorithms_own():
    assert tuned_config("Nowhere-v0", "ppo", PPOConfig) == PPOConfig()


def test_games_of_hanabi_have_the_settings_of_their_id():
    assert has_tuned_config("Hanabi-v0:players=4", "ppo")
    four = tuned_config("Hanabi-v0:players=4", "ppo", PPOConfig, "cpu")
    assert four == tuned_config("Hanabi-v0", "ppo", PPOConfig, "cpu") != PPOConfig()


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_every_entry_can_be_used(algorithm):
    for world, name in TUNED_SETTINGS:
        assert world in {*registered(), *unavailable(), *family_ids()} and name in ALGORITHMS
        if name == algorithm:
            tuned_config(world, algorithm, ALGORITHMS[algorithm][1])


GPU_NETWORKS = {
    "Hanabi-v0": {"hidden": (512, 512)},
    "EscapeRoom-v0": {"hidden": (256, 256, 256), "layer_norm": True},
}
"""Settings of networks that differ from those of the CPU."""


def test_a_gpu_runs_more_worlds(monkeypatch):
    gpu = SimpleNamespace(is_cuda=True)
    monkeypatch.setattr(defaults, "resolve", lambda device: (gpu if device == "cuda:0" else resolve(device)[0], device))
    for world, algorithm in GPU_SETTINGS:
        kind = ALGORITHMS[algorithm][1]
        on_cpu, on_gpu = (tuned_config(world, algorithm, kind, device) for device in ("cpu", "cuda:0"))
        assert on_gpu.num_envs > on_cpu.num_envs and on_gpu.total_steps > on_cpu.total_steps
        assert on_gpu.policy == replace(on_cpu.policy, **GPU_NETWORKS.get(world, {}))


@pytest.mark.parametrize("gpu", [True, False])
@pytest.mark.parametrize("algorithm", [name for name in ALGORITHMS if name not in ("sac", "td3")])
def test_ataris_games_have_settings_on_every_device(algorithm, gpu):
    for game in ("Pong", "Alien", *(name for name, _ in GAMES)):
        config = build_config(ALGORITHMS[algorithm][1], atari_defaults(f"{game}-v5", algorithm, gpu))
        assert config.clip_rewards and config.episodic_life and config.precision == ("bf16" if gpu else "fp32")
        assert (config.num_envs >= 128) == gpu
        if algorithm == "vtrace":
            assert config.num_envs % config.batches == 0
        if algorithm == "ppo":
            assert config.num_steps % config.minibatches == 0 or config.num_envs % config.minibatches == 0


def test_a_games_settings_are_found_however_it_is_named():
    wanted = atari_defaults("Pong-v5", "ppo", True)
    assert wanted != atari_defaults("Alien-v5", "ppo", True)
    assert atari_defaults("ALE/Pong-v5", "ppo", True) == atari_defaults("Pong-v5:frame_skip=2", "ppo", True) == wanted
    assert atari_defaults("Pong-v5+Breakout-v5", "ppo", True) == atari_defaults("Alien-v5", "ppo", True)
    assert (
        tuned_config("Pong-v5:noop_max=1", "ppo", PPOConfig, "cpu")
        == tuned_config("Pong-v5", "ppo", PPOConfig, "cpu")
        == build_config(PPOConfig, atari_defaults("Pong-v5", "ppo", False))
    )
    assert (
        has_tuned_config("Pong-v5", "dqn")
        and has_tuned_config("CartPole-v1", "ppo")
        and not has_tuned_config("Nowhere-v0", "ppo")
    )


def test_every_game_with_settings_of_its_own_is_one():
    assert {name for name, _ in GAMES} <= {game.id for game in ALL_GAMES} and {name for _, name in GAMES} <= set(
        ALGORITHMS
    )


def test_settings_of_single_policies_are_those_of_kinds_of_agents():
    for (world, name), policies in POLICY_SETTINGS.items():
        assert has_tuned_config(world, name)
        if world not in unavailable():
            kind = ALGORITHMS[name][1]
            request = TrainingRequest(world, name, tuned_config(world, name, kind), policy_settings=policies)
            assert set(policies) <= set(agent_counts(definition(world)))
            assert all(request.config_of(policy) != request.config for policy in policies)


def test_whoever_shares_a_policy_is_there_and_everybody_has_one():
    for world, policies in SHARED_POLICIES.items():
        made = definition(world)
        assert {member.table for agents in policies.values() for member in parse_agents(agents, made)} == set(
            agent_counts(made)
        )


def test_all_layouts_of_overcooked_have_the_same_settings() -> None:
    tuned = tuned_config("Overcooked-v0", "ppo", PPOConfig, "cpu")
    assert tuned != PPOConfig()
    assert tuned_config("Overcooked-v0:layout=coordination_ring", "ppo", PPOConfig, "cpu") == tuned
    assert has_tuned_config("Overcooked-v0:layout=coordination_ring", "ppo")
