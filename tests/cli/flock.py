"""A world with two kinds of agents, for the tests of training from a file."""

import numpy as np

import worldloom as wl


class Wolf(wl.Entity):
    move: wl.Action(wl.Discrete(3))
    sight: wl.Observation(2)
    reward: wl.Reward


class Sheep(wl.Entity):
    move: wl.Action(wl.Discrete(3))
    sight: wl.Observation(2)
    reward: wl.Reward


class Meadow(wl.World):
    pace: wl.Config = 1.0


@wl.system
def hunt(wolf: Wolf, world: Meadow):
    wolf.reward = world.pace if wolf.move == 1 else 0.0


@wl.system
def graze(sheep: Sheep):
    sheep.reward = 1.0 if sheep.move == 2 else 0.0


@wl.system
def look(wolf: Wolf):
    wolf.sight = wl.vec2(0.0, 1.0)


@wl.system
def watch(sheep: Sheep):
    sheep.sight = wl.vec2(1.0, 0.0)


wl.register(
    "Flock-v0", world=Meadow, entities={Wolf: 1, Sheep: 3}, step=[hunt, graze], observe=[look, watch], max_steps=5
)
wl.register(
    "FlockSeen-v0",
    world=Meadow,
    entities={Wolf: 1, Sheep: 3},
    step=[hunt, graze],
    observe=[look, watch],
    max_steps=5,
    render=lambda simulation, world: np.full((8, 8, 3), int(simulation.world.step.numpy()[world]), np.uint8),
)
