"""A world whose episodes end in different steps, with systems of all shapes for those that begin."""

from __future__ import annotations

import numpy as np

import worldloom as wl

CROWS = 3
STONES = 40
RAYS = 40


class Field(wl.World):
    turns: wl.Config = 4
    crop: int
    noise: int
    flock: int
    looks: int


class Crow(wl.Entity):
    """An agent whose number varies; a warp computes what it sees."""

    hop: wl.Action(wl.Discrete(3))
    place: int
    hunger: int
    total: int
    sight: wl.Observation(RAYS)
    reward: wl.Reward


class Stone(wl.Entity):
    place: int
    weight: int
    seen: int


class Watch(wl.Entity):
    """A thread of a warp for each of its sectors."""

    sectors: wl.Observation(RAYS)


@wl.system
def sow(world: Field):
    world.crop = world.integer(50)
    for number in range(1 + world.integer(CROWS)):
        world.spawn(Crow, place=world.integer(100), hunger=number)


@wl.system
def drop(stone: Stone, world: Field):
    stone.place = world.integer(100)
    stone.weight = stone.id + world.crop


@wl.system
def call(crow: Crow, world: Field):
    """Counts crows: a row that is not in use, or one that runs twice, shows."""
    world.flock += 10 + crow.hunger


@wl.system
def fly(crow: Crow, world: Field):
    crow.place = (crow.place + crow.hop + world.integer(5)) % 100
    crow.hunger += 1
    crow.reward = float(crow.hunger)
    if crow.hunger == 5:
        crow.despawn()


@wl.system
def end(world: Field):
    world.noise = world.integer(1000)
    if world.step + 1 >= world.turns:
        world.terminate()


@wl.system
def note(stone: Stone, world: Field):
    stone.seen = stone.place + world.crop
    for crow in world.all(Crow):
        if crow.place > stone.place:
            stone.seen += 1


@wl.system(threads=32)
def peer(crow: Crow, world: Field):
    """Sums over stones by a warp, which needs its votes and barriers; ``looks`` counts the crows that ran."""
    world.looks += 1
    crow.total = 0
    for k in wl.share(STONES):
        crow.total += world.at(Stone, k).weight
    for k in wl.share(RAYS):
        crow.sight[k] = float((crow.total + crow.place * k) % 97) + world.random()


@wl.system(threads=32)
def watch(watch: Watch, world: Field):
    for k in wl.share(RAYS):
        watch.sectors[k] = float(world.crop + world.count(Crow) + k)


FIELD = wl.Definition(
    "ListedField-test",
    Field,
    {Crow: wl.UpTo(CROWS, agents=True), Stone: STONES, Watch: 2},
    reset=(sow, drop, call),
    step=(fly, end),
    observe=(note, call, peer, watch),
)
"""Episodes of ``turns`` steps, which may differ from world to world."""


def actions(rng: np.random.Generator, num_worlds: int) -> np.ndarray:
    """Hops of all agent rows, shape (num_worlds, CROWS)."""
    return rng.integers(0, 3, (num_worlds, CROWS)).astype(np.int32)
