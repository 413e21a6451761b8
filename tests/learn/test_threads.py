"""Trainings on the CPU do not depend on the number of PyTorch's threads, from the initial weights on."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
import torch
from thorough import covering
from worlds import CINEMA, HILL

from worldloom.learn import (
    A2C,
    DQN,
    PPO,
    SAC,
    TD3,
    A2CConfig,
    DQNConfig,
    PolicyConfig,
    PPOConfig,
    SACConfig,
    TD3Config,
    VTrace,
    VTraceConfig,
)
from worldloom.learn.device.torch_settings import MAX_THREADS
from worldloom.learn.networks.layers import orthogonal_
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.saved_state import checked_state

CPU: dict[str, Any] = {"device": "cpu", "seed": 3, "total_steps": 10**9}
FEW: dict[str, Any] = {**CPU, "num_envs": 8}
REPLAY: dict[str, Any] = {**FEW, "learning_starts": 64, "replay_capacity": 1000}
LSTM, STATISTICS = PolicyConfig(memory="lstm", memory_size=64), PolicyConfig(normalize_observations=True)
NORMALIZED: dict[str, Any] = {"normalize_rewards": True, "normalize_values": True, "policy": STATISTICS}
CASES: dict[str, tuple[Any, Any, Any]] = {
    "ppo": (PPO, "CartPole-v1", PPOConfig(num_steps=32, **FEW)),
    "a2c": (A2C, "CartPole-v1", A2CConfig(**FEW)),
    "vtrace": (VTrace, "CartPole-v1", VTraceConfig(num_steps=8, steps_per_update=4, **FEW)),
    "dqn": (DQN, "CartPole-v1", DQNConfig(**REPLAY)),
    "dqn, noisy": (DQN, "CartPole-v1", DQNConfig(noisy=True, **REPLAY)),
    "sac": (SAC, "Pendulum-v1", SACConfig(batch_size=64, **REPLAY)),
    "td3": (TD3, "Pendulum-v1", TD3Config(batch_size=64, **REPLAY)),
    "recurrent": (PPO, "CartPole-v1", PPOConfig(num_steps=16, policy=LSTM, **FEW)),
    "attention": (PPO, HILL, PPOConfig(num_steps=8, epochs=1, **FEW)),
    "image": (PPO, CINEMA, PPOConfig(num_envs=2, num_steps=8, minibatches=2, epochs=1, **CPU)),
    "large batches of a native network": (
        A2C,
        "CartPole-v1",
        A2CConfig(num_envs=8192, num_steps=8, **NORMALIZED, **CPU),
    ),
}
LARGE = PPOConfig(num_envs=512, num_steps=32, minibatches=2, epochs=1, native=False, **CPU)


class StopAfter(Callback):
    """Stops after so many iterations."""

    def __init__(self, iterations: int) -> None:
        self.iterations = iterations

    def on_iteration(self, trainer: Any, progress: Any) -> None:
        if trainer.iteration >= self.iterations:
            trainer.stop()


@pytest.fixture(autouse=True)
def threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def trained(case: str, threads: int) -> tuple[dict[str, torch.Tensor], dict[str, torch.Tensor]]:
    """The initial tensors of a training, and those after a few iterations."""
    kind, env, config = CASES[case]
    torch.set_num_threads(threads)
    trainer = kind(env, config)
    initial = copied(trainer)
    off_policy = "learning_starts" in vars(config)
    trainer.learn(callbacks=StopAfter(10 if off_policy else 2))
    assert not off_policy or trainer.learning
    return initial, copied(trainer)


def copied(trainer: Any) -> dict[str, torch.Tensor]:
    return {name: tensor.detach().clone() for name, tensor in trainer.state()[0].items()}


def assert_equal(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> None:
    assert one.keys() == other.keys()
    different = [name for name, tensor in one.items() if tensor.numpy().tobytes() != other[name].numpy().tobytes()]
    assert not different


@pytest.mark.parametrize(("case", "count"), covering(CASES, (2, 4)))
def test_several_threads_train_the_same_bits_as_one(case: str, count: int) -> None:
    initial, last = trained(case, 1)
    other_initial, other_last = trained(case, count)
    assert_equal(initial, other_initial)
    assert_equal(last, other_last)
    assert any(not torch.equal(initial[name], last[name]) for name in initial if "/policy/" in name)


def test_a_resumed_training_of_a_large_network_keeps_the_number_of_threads() -> None:
    """Its sums depend on it, so that the training would otherwise not continue exactly on a machine of other cores."""

    def train(trainer: PPO, iterations: int, threads: int) -> PPO:
        torch.set_num_threads(threads)
        trainer.learn(callbacks=StopAfter(iterations))
        return trainer

    straight, stopped = train(PPO("CartPole-v1", LARGE), 3, 4), train(PPO("CartPole-v1", LARGE), 1, 4)
    tensors, plain = stopped.state()
    assert plain["threads"] == 4
    fresh = PPO("CartPole-v1", LARGE)
    fresh.load_state({name: tensor.clone() for name, tensor in tensors.items()}, plain)
    assert_equal(copied(train(fresh, 3, 1)), copied(straight))
    assert torch.get_num_threads() == 1
    del plain["threads"]  # as earlier versions saved it
    fresh.load_state(tensors, plain)
    assert fresh.threads == 1


@pytest.mark.parametrize("count", [-1, 1.5, True, MAX_THREADS + 1])
def test_an_impossible_number_of_threads_is_refused(count: Any) -> None:
    plain = PPO("CartPole-v1", replace(LARGE, num_envs=8)).state()[1]
    with pytest.raises(Exception, match="impossible"):
        checked_state({**plain, "threads": count})


@pytest.mark.parametrize("shape", [(64, 64), (64, 4), (3, 64), (1, 1), (16, 4, 3, 3)])
def test_orthogonal_weights_are_those_of_torch(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    orthogonal_(weights := torch.empty(shape), gain=1.5)
    torch.manual_seed(0)
    torch.nn.init.orthogonal_(wanted := torch.empty(shape), gain=1.5)
    assert torch.allclose(weights, wanted, atol=1e-4)
    matrix = weights.flatten(1).double()
    product = matrix @ matrix.T if len(matrix) <= matrix[0].numel() else matrix.T @ matrix
    assert torch.allclose(product, 2.25 * torch.eye(len(product)).double(), atol=1e-6)


PROGRAM = """
import hashlib
from worldloom.learn import PPO, PPOConfig
trainer = PPO("CartPole-v1", PPOConfig(num_envs=8, num_steps=32, device="cpu", total_steps=256))
trainer.learn()
state = trainer.state()[0]
print(hashlib.sha256(b"".join(state[name].numpy().tobytes() for name in state)).hexdigest())
"""


def test_a_process_with_another_number_of_threads_trains_the_same_bits(capsys: pytest.CaptureFixture[str]) -> None:
    torch.set_num_threads(1)
    exec(PROGRAM, {})
    here = capsys.readouterr().out
    environment = {**os.environ, "OMP_NUM_THREADS": "2"}
    environment.pop("MKL_NUM_THREADS", None)
    ended = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
    assert len(here) > 60 and ended.stdout == here
