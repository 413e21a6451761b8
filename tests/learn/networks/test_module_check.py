"""Custom modules that fail: one sentence with the place, before the training starts where possible."""

import pytest
import torch
from torch import nn

from worldloom.core.base.errors import InputError
from worldloom.learn import DQN, PPO, DQNConfig, PPOConfig
from worldloom.learn.networks.custom.module_call import call_module

SMALL = {"num_envs": 4, "device": "cpu"}
PPO_CONFIG, DQN_CONFIG = PPOConfig(**SMALL, num_steps=8), DQNConfig(**SMALL, learning_starts=16, batch_size=8)


class Pair(nn.Module):
    """A policy for CartPole-v1, as PPO takes it."""

    def __init__(self, inputs: int = 4) -> None:
        super().__init__()
        self.layer, self.calls = nn.Linear(inputs, 3), 0

    def forward(self, state):
        self.calls += 1
        outputs = self.layer(state)
        return outputs[:, :2], outputs[:, 2]


class Recurrent(Pair):
    state_size = 5

    def forward(self, state, memory):
        return *super().forward(state), memory

    def sequence(self, states, memory, resets):
        return states[..., :3], states[..., 0]


class BadAct(Pair):
    def act(self, state):
        return self.layer(state)


class FailingAct(Pair):
    def act(self, state):
        return self.lost(state)


class ByName(nn.Module):
    def forward(self, observations):
        return observations.get("state"), observations.get("state")


def test_dqn_refuses_a_pair():
    with pytest.raises(
        InputError, match=r"Pair.forward returned as Q values a tuple of 2: make it one tensor \(3, 2\).*ppo"
    ):
        DQN("CartPole-v1", DQN_CONFIG, network=Pair())


@pytest.mark.parametrize(
    ("module", "sentence"),
    [
        (Pair(5), r"Pair.forward failed in test_module_check.py, line \d+, with RuntimeError: mat1 and mat2 .*; "
                  r"it was given a tensor \(3, 4\) of float32: correct the module"),
        (ByName(), r"ByName.forward failed in test_module_check.py, line \d+, with AttributeError"),
        (BadAct(), r"BadAct.act returned as parameters of the action a tensor \(3, 3\): make it a tensor \(3, 2\)"),
        (FailingAct(), r"FailingAct.act failed .* with AttributeError: .* no attribute 'lost'"),
        (Recurrent(), r"Recurrent.sequence returned as parameters of the action a tensor \(2, 3, 3\)"),
        (nn.Linear(3, 3), r"Linear.forward failed with RuntimeError: mat1 and mat2"),
    ],
)  # fmt: skip
def test_mistakes_are_found_before_the_training(module, sentence):
    with pytest.raises(InputError, match=sentence) as error:
        PPO("CartPole-v1", PPO_CONFIG, network=module)
    assert "failed" not in sentence or error.value.__cause__ is not None


def test_the_trial_changes_neither_the_module_nor_random_numbers():
    module = nn.Sequential(nn.Dropout(0.5), Pair())
    torch.manual_seed(3)
    expected = torch.rand(1)
    torch.manual_seed(3)
    PPO("CartPole-v1", PPO_CONFIG, network=module)
    assert module[1].calls == 0 and torch.equal(torch.rand(1), expected)


class Normalized(Pair):
    """Batch normalization, which needs two samples or more while it is trained."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.BatchNorm1d(4)

    def forward(self, state):
        return super().forward(self.norm(state))


def test_a_module_with_batch_normalization_is_tried_on_one_row():
    PPO("CartPole-v1", PPOConfig(num_envs=1, num_steps=8, minibatches=1, device="cpu"), network=Normalized()).learn(16)


def test_an_error_during_training_is_explained():
    module = Pair()
    trainer = PPO("CartPole-v1", PPO_CONFIG, network=module)
    module.layer = nn.Identity()
    module.forward = lambda state: torch.zeros(2) + state
    with pytest.raises(InputError, match=r"Pair.forward failed in test_module_check.py, line .* RuntimeError"):
        trainer.learn(32)


def test_lack_of_memory_and_own_errors_pass():
    def fail(error: Exception):
        raise error

    for error in (torch.OutOfMemoryError("full"), InputError("own")):
        with pytest.raises(type(error), match=r"^(full|own)$"):
            call_module("Net", "forward", fail, error)


def test_a_network_is_a_module():
    with pytest.raises(InputError, match=r"derived from torch.nn.Module"):
        DQN("CartPole-v1", DQN_CONFIG, network=lambda state: state)
