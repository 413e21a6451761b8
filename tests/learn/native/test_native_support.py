"""Which trainings use native kernels, and the setting that turns them off."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from thorough import sample

from worldloom.learn import A2C, DQN, PPO, A2CConfig, DQNConfig, PolicyConfig, PPOConfig, VTrace, VTraceConfig
from worldloom.learn.config.serialization import config_from_dict, config_to_dict

CPU = {"device": "cpu", "num_envs": 8}
FALLING = [(0, 0.3), (400, 0.05)]
"""A schedule."""


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 3)

    def forward(self, observation):
        outputs = self.layer(observation)
        return outputs[:, :2], outputs[:, 2]


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (PPOConfig(**CPU), ""),
        (PPOConfig(**CPU, policy=PolicyConfig(shared=True, hidden=(256,))), ""),
        (PPOConfig(**CPU, native=False), "native is off"),
        (PPOConfig(**CPU, precision="bf16"), "the precision is bf16"),
        (PPOConfig(**CPU, policy=PolicyConfig(hidden=(300,))), "it has a layer of 300 units, more than 256"),
        (PPOConfig(**CPU, policy=PolicyConfig(memory="gru")), "its network is recurrent"),
        (PPOConfig(**CPU, policy=PolicyConfig(layer_norm=True)), "its encoder is a LayerNormMLP, not an MLP"),
    ],
)
def test_reason(config, reason):
    trainer = PPO("CartPole-v1", config)
    (learner,) = trainer.learners.values()
    assert learner.native_reason == reason
    assert (learner.native_step is None) == bool(reason)
    assert trainer.kernels() == {"Cart": f"PyTorch ({reason})" if reason else "native"}


def test_custom_networks_use_pytorch():
    (learner,) = PPO("CartPole-v1", PPOConfig(**CPU), network=Net()).learners.values()
    assert learner.native_reason == "its network is a CustomActorCritic"


def test_a_config_of_version_0_1_reads_as_without_native_kernels():
    values = config_to_dict(PPOConfig())
    assert config_from_dict(PPOConfig, values).native
    del values["native"]
    assert not config_from_dict(PPOConfig, values).native
    assert config_from_dict(PPOConfig, {"gamma": 0.9}).native


@pytest.mark.parametrize(
    ("trainer", "config"),
    sample(
        [
            (PPO, PPOConfig(**CPU, num_steps=8)),
            (PPO, PPOConfig(**CPU, num_steps=9, minibatches=4)),
            (PPO, PPOConfig(**CPU, num_steps=8, overlap=True, policy=PolicyConfig(normalize_observations=True))),
            (PPO, PPOConfig(**CPU, num_steps=8, max_kl=0.002, learning_rate=0.01)),
            (PPO, PPOConfig(**CPU, num_steps=8, normalize_values=True, value_clip=0.2)),
            (PPO, PPOConfig(**CPU, num_steps=8, entropy_weight=FALLING, clip=FALLING, value_clip=FALLING)),
            (A2C, A2CConfig(**CPU, normalize_rewards=True)),
            (A2C, A2CConfig(**CPU, normalize_values=True)),
            (VTrace, VTraceConfig(**CPU)),
            (VTrace, VTraceConfig(**CPU, normalize_values=True)),
            (DQN, DQNConfig(**CPU, learning_starts=16, batch_size=32, policy=PolicyConfig(hidden=(16,), dueling=True))),
            (DQN, DQNConfig(**CPU, learning_starts=16, batch_size=32, max_gradient_norm=FALLING)),
        ],
        6,
    ),
)
def test_training_equals_that_of_pytorch_and_resumes_bit_for_bit(trainer, config):
    native, plain = trainer("CartPole-v1", config), trainer("CartPole-v1", replace(config, native=False))
    native.learn(480)
    plain.learn(480)
    (learner,), (other,) = native.learners.values(), plain.learners.values()
    assert learner.native_step is not None
    assert other.native_step is None
    torch.testing.assert_close(learner.optimizer.flat, other.optimizer.flat, rtol=1e-3, atol=1e-3)
    torch.testing.assert_close(learner.metrics, other.metrics, rtol=1e-2, atol=1e-2)

    tensors, values = native.state()
    resumed = trainer("CartPole-v1", config)
    resumed.load_state({k: v.clone() for k, v in tensors.items()}, values)
    native.learn(960)
    resumed.learn(960)
    for name, tensor in native.tensors().items():
        assert torch.equal(tensor, resumed.tensors()[name]), name


@pytest.mark.parametrize(
    ("trainer", "config", "name"),
    [
        (PPO, PPOConfig(**CPU, num_steps=8), "max_gradient_norm"),
        (PPO, PPOConfig(**CPU, num_steps=8), "entropy_weight"),
        (A2C, A2CConfig(**CPU), "value_weight"),
        (DQN, DQNConfig(**CPU, learning_starts=16, batch_size=32), "max_gradient_norm"),
    ],
)
def test_recorded_steps_use_the_current_value_of_a_schedule(trainer, config, name):
    """A step changes at 240 steps, and only from then on do the parameters differ from those of a constant."""
    constant = trainer("CartPole-v1", replace(config, **{name: 0.3}))
    changing = trainer("CartPole-v1", replace(config, **{name: [(0, 0.3), (240, 0.3), (241, 1e-3)]}))
    (learner,), (other,) = constant.learners.values(), changing.learners.values()
    constant.learn(240)
    changing.learn(240)
    assert torch.equal(learner.optimizer.flat, other.optimizer.flat)
    constant.learn(600)
    changing.learn(600)
    assert not torch.equal(learner.optimizer.flat, other.optimizer.flat)


def test_a_skipped_step_changes_nothing():
    """The second step of an update exceeds the limit, so that one step is taken."""
    trainer = PPO("CartPole-v1", PPOConfig(**CPU, num_steps=8, learning_rate=0.1, max_kl=1e-6))
    (learner,) = trainer.learners.values()
    trainer.learn(64)
    assert learner.native_step is not None
    assert learner.optimizer.tensors()["powers"].tolist() == pytest.approx([0.9, 0.999])


def test_native_training_solves_cartpole():
    config = PPOConfig(device="cpu", num_envs=64, epochs=8, gamma=0.98, lam=0.9, learning_rate=3e-3, schedule="linear")
    assert PPO("CartPole-v1", config).learn(60_000).score > 150.0
