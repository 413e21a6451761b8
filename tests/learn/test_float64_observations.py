"""Observations of float64 numbers: policies and their rollouts get float32, and runs of version 0.1 keep float64."""

import pytest
import torch
from torch import nn

import worldloom as wl
from worldloom.learn import DQN, PPO, DQNConfig, PolicyConfig, PPOConfig, VTrace, VTraceConfig

pytestmark = pytest.mark.usefixtures("quick_compilation")

CPU = {"device": "cpu", "num_envs": 4}


class Scale(wl.Entity):
    """Observes thirds, which float32 rounds, and the number of the step."""

    move: wl.Action(wl.Discrete(2))
    exact: wl.Observation(2, dtype=wl.float64)
    step: wl.Observation(wl.Discrete(8))
    reward: wl.Reward(wl.float64)


class Scales(wl.World):
    pass


@wl.system
def weigh(scale: Scale, world: Scales):
    scale.reward = wl.float64(world.step)


@wl.system
def observe(scale: Scale, world: Scales):
    scale.exact[0] = wl.float64(world.step) / wl.float64(3.0)
    scale.exact[1] = wl.float64(1.0) / wl.float64(3.0)
    scale.step = world.step % 8


SCALES = wl.Definition("Scales-test", Scales, {Scale: 1}, step=(weigh,), observe=(observe,), max_steps=5)


class Net(nn.Module):
    """Keeps the types of its observations."""

    def __init__(self, outputs: int) -> None:
        super().__init__()
        self.layer, self.types, self.outputs = nn.Linear(2, 3), {}, outputs

    def forward(self, observations):
        self.types = {name: values.dtype for name, values in observations.items()}
        outputs = self.layer(observations["exact"])
        return (outputs[:, :2], outputs[:, 2]) if self.outputs == 2 else outputs[:, :2]


def test_the_rollout_holds_float32_and_integers_unchanged():
    trainer = PPO(SCALES, PPOConfig(**CPU, num_steps=12))
    trainer.learn(48)
    (learner,) = trainer.learners.values()
    storage = learner.actor.storage
    assert storage.observations["exact"].dtype == torch.float32
    assert storage.observations["step"].dtype == torch.int32
    steps = (torch.arange(12, dtype=torch.float64) % 5)[:, None].expand(12, 4)
    assert torch.equal(storage.observations["exact"][..., 0], (steps / 3.0).float())
    assert torch.equal(
        storage.final_observations["exact"][0, :, 0], torch.full((4,), 5 / 3, dtype=torch.float64).float()
    )
    assert learner.agent_group.observations()["step"].data_ptr() == trainer.simulation[Scale].step.torch().data_ptr()


@pytest.mark.parametrize(
    ("trainer", "config"),
    [
        (PPO, PPOConfig(**CPU, num_steps=8, policy=PolicyConfig(normalize_observations=True))),
        (VTrace, VTraceConfig(**CPU)),
        (DQN, DQNConfig(**CPU, learning_starts=16, batch_size=32)),
    ],
)
def test_native_kernels_train(trainer, config):
    trained = trainer(SCALES, config)
    trained.learn(64)
    assert trained.kernels() == {"Scale": "native"}


@pytest.mark.parametrize(
    ("trainer", "config", "outputs"),
    [(PPO, PPOConfig(**CPU, num_steps=8), 2), (DQN, DQNConfig(**CPU, learning_starts=16, batch_size=32), 1)],
)
def test_a_custom_module_gets_float32(trainer, config, outputs):
    module = Net(outputs)
    trainer(SCALES, config, network=module).learn(64)
    assert module.types == {"exact": torch.float32, "step": torch.int32}


def test_the_rules_of_version_0_1_keep_float64():
    trainer = PPO(SCALES, PPOConfig(**CPU, num_steps=8, policy=PolicyConfig(input_rules="0.1")))
    trainer.learn(32)
    (learner,) = trainer.learners.values()
    assert learner.actor.storage.observations["exact"].dtype == torch.float64
