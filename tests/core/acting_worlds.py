"""A world whose systems run for the entities with one action, in a fixed kind and in a population of agents."""

from __future__ import annotations

import numpy as np

import worldloom as wl

ROWS = 4
"""Agents of each kind per world."""


class Actor(wl.Components):
    act: wl.Action(wl.Discrete(3))
    turn: int = 1
    zeros: int
    ones: int


class Player(wl.Entity, Actor):
    pass


class Walker(wl.Entity, Actor):
    pass


class Stage(wl.World):
    rests: wl.Persistent(int)
    moves: wl.Persistent(int)
    begun: wl.Persistent(int)


@wl.system
def enter(world: Stage):
    for _ in range(3):
        world.spawn(Walker)


def acting_world(together: bool) -> wl.Definition:
    """The world, whose systems with a condition are one kernel or one kernel each."""

    @wl.system(where=("act", 0), together=together)
    def rest(e: wl.Has(Actor), world: Stage):
        e.zeros += 1
        world.rests += 1

    @wl.system(where=("act", (2, 1)), together=together)
    def move(e: wl.Has(Actor), world: Stage):
        world.moves += 1
        e.turn = e.turn * 3 % 101 + e.act
        if e.act == 1:
            e.ones += 1

    @wl.system(where=("turn", 1), together=together)
    def begin(e: wl.Has(Actor), world: Stage):
        """The turn is 1 where nothing but zeros came before: the engine sets it when an episode begins."""
        world.begun += 1

    @wl.system
    def leave(e: Player, world: Stage):
        if world.step % 2 == 1 and e.id == 1:
            e.terminate()
        if world.step == 2 and world.id % 2 == 0:
            world.terminate()

    @wl.system
    def replace(e: Walker, world: Stage):
        if e.id == world.step % 3:
            e.despawn()
            world.spawn(Walker, zeros=e.zeros, ones=e.ones)

    name = f"Acting-{'together' if together else 'alone'}-test"
    entities = {Player: ROWS, Walker: wl.UpTo(ROWS)}
    return wl.Definition(name, Stage, entities, reset=(enter,), step=(rest, move, leave, rest, replace, begin))


def invalid_actions(step: int, num_worlds: int) -> dict[str, np.ndarray]:
    """Choices for all agents, a third of which do not exist: beyond the last, and negative."""
    rng = np.random.default_rng(step)
    choices = np.array([0, 1, 2, 0, 1, 2, 7, -1, 3, -(2**31), 2**31 - 1, 1], np.int32)
    return {f"{kind}.act": rng.choice(choices, (num_worlds, ROWS)) for kind in ("Player", "Walker")}


def columns(simulation: wl.Simulation) -> dict[str, list[int]]:
    """What the systems wrote."""
    names = ("zeros", "ones", "turn")
    players = {f"Player.{name}": simulation[Player][name].numpy().ravel().tolist() for name in names}
    players |= {f"World.{name}": simulation.world[name].numpy().tolist() for name in ("rests", "moves", "begun")}
    return players | {f"Walker.{name}": simulation[Walker].rows(name).cpu().numpy().tolist() for name in names}
