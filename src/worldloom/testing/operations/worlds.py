"""Worlds for random operations: few systems that together use all that the engine keeps of a world."""

from __future__ import annotations

import numpy as np

import worldloom as wl
from worldloom import physics
from worldloom.core.model.population import Overflow


class Tree(wl.Entity):
    fruit: int = 3
    rings: wl.Array(float, 3)
    slots: wl.Array(wl.int8, 6)


class Leaf(wl.Entity):
    age: int
    older: int
    place: wl.vec2
    tree: wl.Ref[Tree]
    before: wl.Ref[Leaf]


class Gust(wl.Event):
    force: float


class Walker(wl.Entity):
    go: wl.Action(wl.Discrete(4))
    place: wl.vec2
    energy: wl.Finite(float)
    visits: wl.Persistent(int)
    goal: wl.Ref[Tree]
    sight: wl.Observation(3)
    reward: wl.Reward
    trees: wl.Info(int, metric=True)


class Orchard(wl.World):
    wind: wl.Config = 0.5
    growth: wl.Config = 2
    shares: wl.Config = np.array([1.0, 2.0, 0.5], np.float32)
    fallen: wl.int64
    height: float
    fruits: int
    last: wl.Ref[Leaf]
    calls: wl.Persistent(int)


@wl.system
def plant(tree: Tree, world: Orchard):
    tree.fruit = world.integer(5)
    for i in range(3):
        tree.rings[i] = world.normal() * world.shares[i]


@wl.system
def enter(walker: Walker, world: Orchard):
    walker.place = wl.vec2(world.random(), world.random())
    walker.energy = 2.0 + world.random()
    walker.goal = world.at(Tree, walker.id % world.count(Tree)).ref


@wl.system
def bud(world: Orchard):
    for i in range(2):
        world.spawn(Leaf, place=wl.vec2(float(i), 0.5), tree=world.at(Tree, i % world.count(Tree)).ref)


@wl.system
def walk(walker: Walker, world: Orchard):
    angle = 1.5 * float(walker.go)
    walker.place += wl.vec2(wl.cos(angle), wl.sin(angle)) * 0.25
    walker.energy -= 0.1 + 0.2 * world.random()
    walker.visits += 1


@wl.system(where=("go", (0, 3)))
def pick(walker: Walker):
    tree = walker.goal.get()
    tree.fruit += -1
    walker.trees += 1
    walker.reward = 0.5


@wl.system
def grow(world: Orchard):
    for _ in range(world.growth):
        if world.random() < 0.6:
            tree = world.at(Tree, world.integer(world.count(Tree)))
            world.last = world.spawn(
                Leaf, place=wl.vec2(tree.rings[0], world.normal()), tree=tree.ref, before=world.last
            )


@wl.system
def fall(leaf: Leaf, world: Orchard):
    leaf.age += 1
    leaf.place += wl.vec2(world.wind * world.random(), 0.01)
    if leaf.age > 6:
        world.fallen += 1
        world.spawn(Gust, force=leaf.place.x)
        leaf.despawn()


@wl.system
def inherit(leaf: Leaf):
    if leaf.before.alive:
        leaf.older = leaf.before.get().age


@wl.system
def settle(gust: Gust, world: Orchard):
    world.height += gust.force


@wl.system(threads=8)
def ripen(world: Orchard):
    for turn in range(3):
        for i in wl.share(world.count(Tree), disjoint=True):
            tree = world.at(Tree, i)
            tree.rings[turn] += 0.5 * world.wind
            tree.slots[(tree.fruit + turn) % 6 + world.step // 11] += 1  # slot 6 does not exist
        if turn == world.step % 3:
            break


@wl.system
def clear(world: Orchard):
    world.fruits = 0


@wl.system
def add_fruit(tree: Tree, world: Orchard):
    world.fruits += tree.fruit


@wl.system
def add_fruits(world: Orchard):
    world.fruits = 0
    for tree in world.all(Tree):
        world.fruits += tree.fruit


@wl.system
def tire(walker: Walker, world: Orchard):
    if walker.energy < 0.0:
        world.terminate()


@wl.system
def crowd(walker: Walker, world: Orchard):
    for leaf in world.near(Leaf, walker.place, 0.5, by="place"):
        walker.energy += 0.01 * float(leaf.age)


def count_calls(sim: wl.Simulation) -> None:
    """A callable of the schedule."""
    sim.world.calls.torch().add_(1)


@wl.system
def look(walker: Walker, world: Orchard):
    walker.sight[0] = walker.place.x
    walker.sight[1] = walker.energy
    walker.sight[2] = float(world.fruits)


def orchard(overflow: Overflow, batch: int | None = None, calls: bool = False, near: bool = False) -> wl.Definition:
    """A world with agents, a population, events, references, alternatives and faults of array indices."""
    count = wl.Alternatives("count", {"trees": [clear, add_fruit], "world": [add_fruits]})
    extra = [*([crowd] if near else []), *([count_calls] if calls else [])]
    name = "-".join(["orchard", overflow, *(["pooled"] if batch else []), *(f.__name__ for f in extra)])
    leaves = wl.UpTo(9, overflow=overflow, batch=batch)
    return wl.Definition(
        name,
        Orchard,
        {Tree: 3, Walker: 2, Leaf: leaves, Gust: wl.UpTo(9, overflow="drop")},
        reset=(plant, enter, bud),
        step=(walk, pick, grow, inherit, fall, settle, ripen, count, *extra, tire),
        observe=(look,),
        max_steps=12,
        limits={"wind": (-5.0, 5.0), "growth": (0, 4)},
    )


class Player(wl.Entity):
    push: wl.Action(wl.Box(-1.0, 1.0, (2,)))
    place: wl.vec2
    sight: wl.Observation(2)
    reward: wl.Reward
    pushes: wl.Info(int)


class Coach(wl.Entity):
    orders: wl.Action(wl.MultiDiscrete(2, 5))
    mood: float


class Team(wl.World):
    pull: wl.Config = 0.25
    moves: int


@wl.system
def begin(world: Team):
    for _ in range(1 + world.integer(3)):
        world.spawn(Player, place=wl.vec2(world.random(), 0.0))


@wl.system
def move(player: Player, world: Team):
    player.place += player.push - world.pull * player.place
    player.pushes += 1
    player.reward = -wl.length(player.place)
    world.moves += 1
    if wl.length(player.place) > 1.5:
        player.despawn()


@wl.system
def command(coach: Coach, world: Team):
    coach.mood = 0.5 * coach.mood + float(coach.orders[1])
    if coach.orders[0] == 1:
        world.spawn(Player, place=wl.vec2(0.0, 0.1 * coach.mood))


@wl.system
def watch(player: Player):
    player.sight[0] = player.place.x
    player.sight[1] = player.place.y


TEAM = wl.Definition(
    "team",
    Team,
    {Player: wl.UpTo(4, overflow="drop", agents=True), Coach: 1},
    reset=(begin,),
    step=(command, move),
    observe=(watch,),
    max_steps=15,
)
"""A world with a population of agents, and actions of two kinds."""


class Block(physics.Body):
    pass


class Yard(physics.World):
    strength: wl.Config = 60.0  # N


class Pusher(wl.Entity):
    push: wl.Action(wl.Box(-1.0, 1.0, (1,)))
    block: wl.Ref[Block]
    sight: wl.Observation(3)
    reward: wl.Reward


SOLID = physics.systems(Yard, Block, shapes=(physics.PLANE, physics.BOX))


@wl.system
def build(world: Yard):
    world.spawn(Block, shape=physics.PLANE, motion=physics.STATIC)
    for i in range(3):
        lean = wl.vec3(0.05 * world.random(), 0.0, 0.21 + 0.45 * float(i))
        world.spawn(Block, size=wl.vec3(0.2, 0.2, 0.2), position=lean, density=50.0)


@wl.system
def grip(pusher: Pusher, world: Yard):
    pusher.block = world.at(Block, 3).ref


@wl.system
def push(pusher: Pusher, world: Yard):
    pusher.block.get().force += wl.vec3(world.strength * pusher.push[0], 0.0, 0.0)


@wl.system
def feel(pusher: Pusher, world: Yard):
    block = pusher.block.get()
    for i in range(3):
        pusher.sight[i] = block.position[i]
    pusher.reward = block.position.z


YARD = wl.Definition(
    "yard",
    Yard,
    {Pusher: 1, Block: wl.UpTo(4), **SOLID.entities(pairs=6, contacts=6, joints=1)},
    reset=(build, grip),
    step=(push, *SOLID.step, feel),
    max_steps=40,
)
"""A world with rigid bodies."""

WORLDS: dict[str, wl.Definition] = {
    world.id: world
    for world in (
        orchard("drop"),
        orchard("reset", calls=True),
        orchard("error"),
        orchard("drop", batch=40),
        orchard("reset", near=True),
        TEAM,
        YARD,
    )
}
"""The worlds of this module, by id."""

BUNDLED = (
    "CartPole-v1",
    "Pendulum-v1",
    "Taxi-v3",
    "FrozenLake-v1",
    "Blackjack-v1",
    "MountainCarContinuous-v0",
    "Catch-v0",
)
"""Ids of worlds that come with worldloom."""
