"""Small finished runs, and the comparison of a run's folder before and after a refusal."""

import json
import os
import warnings
from dataclasses import replace

import pytest

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.dqn import DQNConfig
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.algorithms.vtrace import VTraceConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.runs.checkpoint_files import STATE
from worldloom.learn.runs.training_run import TrainingRequest, run_training

NETWORK = PolicyConfig(hidden=(8,))
SETTINGS = {
    "ppo": PPOConfig(num_envs=4, num_steps=8, minibatches=2, device="cpu", total_steps=96, policy=NETWORK),
    "dqn": DQNConfig(
        num_envs=4,
        device="cpu",
        total_steps=96,
        learning_starts=32,
        batch_size=8,
        replay_capacity=200,
        prioritized=True,
        policy=NETWORK,
    ),
    "vtrace": VTraceConfig(
        num_envs=4, num_steps=8, steps_per_update=4, batches=2, device="cpu", total_steps=96, policy=NETWORK
    ),
}


def trained(folder, algorithm="ppo"):
    """A run of 96 steps in ``folder``, with three checkpoints or more, and the request that goes on with it."""
    request = TrainingRequest(
        "CartPole-v1", algorithm, SETTINGS[algorithm], run_dir=folder, checkpoint_every=1e-6, keep=3
    )
    run_training(request)
    return replace(request, resume="yes", config=replace(request.config, total_steps=128))


def contents(folder):
    """Every file, folder and link below ``folder``, with what it holds."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found


def refused(request, match):
    """Resuming raises an InputError of one line, and no byte of the folder changes."""
    before = contents(request.run_dir)
    with pytest.raises(InputError, match=match) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_training(request)
    assert "\n" not in str(caught.value)
    assert contents(request.run_dir) == before


def checkpoints(folder):
    return sorted((folder / "checkpoints").iterdir())


def edit(path, **changes):
    data = json.loads((path / STATE).read_text())
    (path / STATE).write_text(json.dumps(data | changes))
