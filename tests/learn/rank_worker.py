"""Trains in one of several processes, which torchrun starts.

``rank_worker.py FOLDER DEVICE`` trains every case, ``rank_worker.py FOLDER DEVICE CASE ...`` those that are named. With
``stall`` among them, the last rank then stalls.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import nn
from worlds import YARD

import worldloom as wl
from worldloom.learn import A2C, PPO, A2CConfig, Callback, PolicyConfig, PPOConfig, VTrace, VTraceConfig
from worldloom.learn.algorithms.on_policy import OnPolicyTrainer
from worldloom.learn.distributed import ranks

ITERATIONS, NUM_ENVS = 3, 16
SMALL = PolicyConfig(hidden=(16,))
MIXED = PolicyConfig(hidden=(16,), action_distribution="squashed_gaussian", action_std="state")
NORMALIZING = PolicyConfig(hidden=(16,), normalize_observations=True)


class Climber(wl.Entity):
    height: float
    luck: float
    climb: wl.Action(wl.Discrete(3))
    sight: wl.Observation(2)
    reward: wl.Reward


class Wall(wl.World):
    top: wl.Config = 2.0


@wl.system
def climb(climber: Climber, world: Wall):
    if not climber.active:
        return
    climber.height += 0.5 * climber.luck * float(climber.climb)
    climber.reward = climber.height - 0.3 * float(climber.climb)
    if climber.height >= world.top:
        climber.terminate()


@wl.system
def begin(climber: Climber, world: Wall):
    climber.height = 0.0
    climber.luck = world.random(0.2, 1.0)


@wl.system
def look(climber: Climber):
    climber.sight = wl.vec2(climber.height, climber.luck)


WALL = wl.Definition("Wall-test", Wall, {Climber: 3}, reset=(begin,), step=(climb,), observe=(look,), max_steps=11)
"""Agents leave early, and what is left of an episode is cut off."""


class Odd(nn.Module):
    """A module that starts differently in every process."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(int(os.environ.get("RANK", "0")))
        self.body, self.logits, self.value = nn.Linear(4, 16), nn.Linear(16, 2), nn.Linear(16, 1)

    def forward(self, sight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        seen = torch.tanh(self.body(sight))
        return self.logits(seen), self.value(seen).squeeze(-1)


def cases(place: ranks.Ranks, device: str = "cpu", names: Iterable[str] = ()) -> dict[str, OnPolicyTrainer]:
    """The trainings that are compared, over NUM_ENVS worlds in all; all of them without ``names``."""
    common = {"num_envs": NUM_ENVS, "seed": 3, "device": device}

    def ppo(**settings: object) -> PPOConfig:
        given = {**common, "num_steps": 16, "policy": NORMALIZING, "learning_rate": 1e-3, "entropy_weight": 0.01}
        return PPOConfig(**{**given, **settings})

    made: dict[str, Callable[[], OnPolicyTrainer]] = {
        "ppo": lambda: PPO("CartPole-v1", ppo(schedule="kl", normalize_rewards=True), ranks=place),
        "ppo-numbers": lambda: PPO("Pendulum-v1", ppo(value_clip=0.2, num_steps=15, minibatches=2), ranks=place),
        "ppo-memory": lambda: PPO(
            "CartPole-v1", ppo(policy=PolicyConfig(hidden=(16,), memory="gru", memory_size=8)), ranks=place
        ),
        "ppo-leaving": lambda: PPO(WALL, ppo(schedule="kl", normalize_rewards=True), ranks=place),
        "ppo-stopping": lambda: PPO(
            "CartPole-v1", ppo(max_kl=2e-4, epochs=8, normalize_values=True, reward_scale=0.5), ranks=place
        ),
        "ppo-mixed": lambda: PPO(YARD, ppo(policy=MIXED), ranks=place),
        "ppo-module": lambda: PPO("CartPole-v1", ppo(policy=PolicyConfig()), network=Odd(), ranks=place),
        "a2c": lambda: A2C(
            "CartPole-v1",
            A2CConfig(
                **common, normalize_advantages=True, schedule="linear", normalize_rewards=True, policy=NORMALIZING
            ),
            ranks=place,
        ),
        "a2c-leaving": lambda: A2C(
            WALL, A2CConfig(**common, n_steps=4, normalize_values=True, policy=NORMALIZING), ranks=place
        ),
        "vtrace": lambda: VTrace("CartPole-v1", VTraceConfig(**common, batches=2, policy=SMALL), ranks=place),
        "vtrace-leaving": lambda: VTrace(
            WALL, VTraceConfig(**common, batches=2, normalize_values=True, policy=NORMALIZING), ranks=place
        ),
    }
    return {name: made[name]() for name in names or made}


class Numbers(Callback):
    """Keeps the numbers of every iteration."""

    def __init__(self) -> None:
        self.rows: list[dict[str, float]] = []

    def on_iteration(self, trainer, progress) -> None:
        self.rows.append({"steps": float(progress.steps), **progress.metrics})


def train(trainer: OnPolicyTrainer) -> tuple[dict[str, torch.Tensor], list[dict[str, float]]]:
    """Parameters and statistics after some iterations, and the numbers of each iteration."""
    numbers = Numbers()
    trainer.learn(ITERATIONS * trainer.new_steps * NUM_ENVS, callbacks=[numbers])
    return {
        f"{name}/{k}": v.cpu().clone()
        for name, learner in trainer.learners.items()
        for k, v in learner.policy.state_dict().items()
    }, numbers.rows


def main(arguments: list[str]) -> None:
    folder = Path(arguments[0])
    place, device = ranks.join_process_group(arguments[1])
    for name, trainer in cases(place, device, [name for name in arguments[2:] if name != "stall"]).items():
        tensors, rows = train(trainer)
        if place.is_leader:
            save_file(tensors, folder / f"{name}.safetensors")
            (folder / f"{name}.json").write_text(json.dumps(rows))
    ranks.leave_process_group()
    if "stall" in arguments:
        stall()


def stall() -> None:
    """Wait for the last rank, which does not answer within the timeout."""
    ranks.TIMEOUT_S = 4.0
    place, _ = ranks.join_process_group("cpu")
    if place.rank == place.size - 1:
        time.sleep(600.0)
    place.barrier()


if __name__ == "__main__":
    main(sys.argv[1:])
