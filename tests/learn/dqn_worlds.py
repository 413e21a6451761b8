"""Worlds and settings of the tests of DQN."""

from __future__ import annotations

import torch
from worlds import Farm, Ram, Sheep, butt, graze, ram_sense, share, sheep_sense, shine

import worldloom as wl
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.q_learner import QLearner
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.progress import Progress
from worldloom.learn.training.trainer import Trainer

CPU = torch.device("cpu")
SMALL = DQNConfig(
    num_envs=4,
    total_steps=400,
    device="cpu",
    seed=1,
    replay_capacity=800,
    batch_size=16,
    learning_starts=40,
    n_step=3,
    updates=2,
    policy=PolicyConfig(hidden=(8,)),
)


class Eater(wl.Entity):
    """Picks one of four dishes, of which one or two are on offer, and never the third."""

    dish: wl.Action(wl.Discrete(4))
    action_mask: wl.Observation(4, dtype=bool)
    sight: wl.Observation(2)
    refused: int  # dishes that were not on offer
    reward: wl.Reward


class Canteen(wl.World):
    pass


@wl.system
def eat(eater: Eater):
    if not eater.action_mask[eater.dish]:
        eater.refused += 1
    eater.reward = float(eater.dish)


@wl.system
def cook(eater: Eater, world: Canteen):
    for dish in range(4):
        eater.action_mask[dish] = dish != 2 and (dish == world.step % 2 or dish == 3 - world.step % 3)
    eater.sight = wl.vec2(float(world.step % 2), float(world.step % 3))


CANTEEN = wl.Definition("Canteen-test", Canteen, {Eater: 1}, step=(eat,), observe=(cook,), max_steps=7)


class Camera(wl.Entity):
    """Sees the last three steps' numbers as pictures, newest last; before the first there is the first."""

    turn: wl.Action(wl.Discrete(2))
    film: wl.Observation(3, 2, 2)
    reward: wl.Reward


class Cinema(wl.World):
    pass


@wl.system
def wait(camera: Camera):
    camera.reward = 1.0


@wl.system
def shoot(camera: Camera, world: Cinema):
    for k in range(3):
        for i in range(2):
            for j in range(2):
                camera.film[k, i, j] = float(wl.max(0, world.step - 2 + k))


CINEMA = wl.Definition("Cinema-test", Cinema, {Camera: 1}, step=(wait,), observe=(shoot,), max_steps=9)


class Wreck(wl.Entity):
    """Sees what is no number at its fourth step."""

    move: wl.Action(wl.Discrete(2))
    sight: wl.Observation(1, finite=True)
    reward: wl.Reward


class Yard(wl.World):
    zero: wl.Config = 0.0


@wl.system
def rust(wreck: Wreck):
    wreck.reward = 1.0


@wl.system
def stare(wreck: Wreck, world: Yard):
    wreck.sight[0] = 0.0 / world.zero if world.step == 4 else 1.0


YARD = wl.Definition("Yard-test", Yard, {Wreck: 1}, step=(rust,), observe=(stare,))
FLOCK = wl.Definition(
    "Flock-test",
    Farm,
    {Sheep: 3, Ram: 1},
    step=(graze, butt, share),
    observe=(sheep_sense, ram_sense, shine),
    max_steps=7,
)


class Diary(Callback):
    def __init__(self) -> None:
        self.told: list[Progress] = []

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        self.told.append(progress)


def worlds(world: object, config: DQNConfig, **settings: object) -> wl.Simulation:
    return wl.Simulation(world, config.num_envs, "cpu", seed=config.seed, autoreset="next_step", config=settings)


def only(trainer: DQN) -> QLearner:
    (learner,) = trainer.learners.values()
    return learner
