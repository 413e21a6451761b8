"""Settings that need more memory than there is are refused before any of it is taken."""

from dataclasses import replace

import pytest
import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.agents.specs import ActionSpec, ObservationSpec, PolicySpec
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.sac import SAC, SACConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks import memory_check
from worldloom.learn.networks.policy import Policy
from worldloom.learn.networks.q_network import QNetwork

SMALL = PPOConfig(num_envs=4, num_steps=8, minibatches=2, device="cpu", total_steps=32)
DQN_SMALL = DQNConfig(num_envs=4, device="cpu", total_steps=32)
CPU = torch.device("cpu")
FLAT = PolicySpec({"seen": ObservationSpec((7,))}, ActionSpec("categorical", (3,)))


def refused(make, match):
    with pytest.raises(InputError, match=match):
        make()


@pytest.mark.parametrize("hidden", [(10**9, 10**9), (2**31 - 1,) * 3])
@pytest.mark.parametrize("trainer, config", [(PPO, SMALL), (DQN, DQN_SMALL)])
def test_networks_beyond_memory_are_refused(trainer, config, hidden):
    match = (
        r"the network of policy 'Cart' with [\d,]+ parameters or more would need [\d,]+ bytes of memory, "
        r"and [\d,]+ are available: make hidden"
    )
    refused(lambda: trainer("CartPole-v1", replace(config, policy=PolicyConfig(hidden=hidden))), match)


def test_other_settings_beyond_memory_are_refused(monkeypatch):
    monkeypatch.setattr(memory_check, "available_memory", lambda device: 1 << 33)  # on machines with much more, too
    refused(
        lambda: PPO("CartPole-v1", replace(SMALL, num_steps=2**31 - 2)),
        r"a rollout of 2,147,483,646 steps of 4 agents would need",
    )
    wide = PolicyConfig(memory="lstm", memory_size=10**8)
    refused(
        lambda: PPO("CartPole-v1", replace(SMALL, policy=wide)), "make hidden, memory_size or attention_size smaller"
    )
    refused(
        lambda: DQN("CartPole-v1", replace(DQN_SMALL, batch_size=2**31 - 1)),
        r"a batch of 2,147,483,647 transitions would need",
    )
    refused(
        lambda: DQN("CartPole-v1", replace(DQN_SMALL, atoms=10**8, v_max=1.0)),
        r"a distribution with 100,000,000 atoms would need",
    )
    critics = SACConfig(num_envs=4, device="cpu", total_steps=32, critic_hidden=(10**6, 10**6))
    refused(
        lambda: SAC("Pendulum-v1", critics), r"the network of policy 'Rod' with [\d,]+ parameters or more would need"
    )


def test_a_replay_beyond_memory_is_refused(monkeypatch):
    monkeypatch.setattr(memory_check, "available_memory", lambda device: 1 << 20)
    refused(
        lambda: DQN("CartPole-v1", replace(DQN_SMALL, replay_capacity=10**6)),
        r"a replay of 1,000,000 transitions would need [\d,]+ bytes of memory, and 1,048,576",
    )


@pytest.mark.parametrize(
    "config",
    [
        PolicyConfig(hidden=(16, 24)),
        PolicyConfig(hidden=(50,), shared=True),
        PolicyConfig(memory="lstm", memory_size=6),
        PolicyConfig(memory="gru"),
    ],
)
def test_the_estimate_is_a_close_lower_bound(config):
    build_config = sum(p.numel() for p in Policy(FLAT, config).parameters())
    encoders = 1 if config.shared or config.memory != "none" else 2
    estimate = encoders * memory_check.count_parameters(FLAT.observations, config)
    assert 0.6 * build_config < estimate <= build_config
    if config.memory == "none":
        build_config = sum(p.numel() for p in QNetwork(FLAT, config).parameters())
        assert 0.4 * build_config < memory_check.count_parameters(FLAT.observations, config) <= build_config


def test_the_estimate_of_attention_is_a_close_lower_bound():
    spec = PolicySpec({"others": ObservationSpec((6, 3), entities=True)}, ActionSpec("categorical", (3,)))
    config = PolicyConfig(attention_size=128, attention_layers=3, trunks="separate")
    actual = sum(p.numel() for p in Policy(spec, config).parameters())
    assert 0.8 * actual < 2 * memory_check.count_parameters(spec.observations, config) <= actual


def test_what_is_available_is_known_here():
    free = memory_check.available_memory(CPU)
    assert free is None or free > 1 << 20
    memory_check.require_memory("nothing", 0, CPU, "")
