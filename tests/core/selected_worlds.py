"""A world with systems for some entities of a population, and one whose work several threads share."""

from __future__ import annotations

import worldloom as wl

KINDS = 3


class Seed(wl.Entity):
    kind: int
    value: int
    visits: int
    colour: int


class Sprout(wl.Entity):
    origin: int
    height: int


class Pot(wl.Entity):
    kind: int
    value: int


class Cup(wl.Entity):
    level: int


class Hand(wl.Entity):
    """Pours from one cup into another. Hands of one colour use different cups."""

    colour: int
    left: int
    right: int


class Garden(wl.World):
    most: wl.Config = 40
    sum: int
    weight: float
    breaks: int
    turns: int


@wl.system
def sow(world: Garden):
    for i in range(world.integer(world.most)):
        world.spawn(Seed, kind=world.integer(KINDS), value=i)


@wl.system
def place(pot: Pot, world: Garden):
    pot.kind = world.integer(KINDS)


@wl.system
def reach(hand: Hand):
    hand.colour = hand.id // 3
    hand.left = hand.id % 3 * 4 + hand.colour
    hand.right = hand.left + 1


@wl.system(where=("colour", (2, 0, 1)), disjoint=True)
def pour(hand: Hand, world: Garden):
    """Hands of colour 2, then those of 0, then those of 1; a cup of the next colour holds what the last one left."""
    left = world.at(Cup, hand.left)
    right = world.at(Cup, hand.right)
    right.level = (3 * right.level + left.level + hand.id) % 9973
    left.level -= right.level // 2
    left.level = max(left.level, hand.colour)


@wl.system
def tire(hand: Hand):
    """Hands of all columns change their colours alike."""
    hand.colour = (hand.colour + 1) % 3


@wl.system(where=("kind", 0))
def water(pot: Pot, world: Garden):
    """A kind of a fixed number."""
    pot.value += 1 + world.count(Seed)


@wl.system(where=("kind", 1))
def grow(seed: Seed, world: Garden):
    """Only seeds of kind 1 grow, and sprout at times."""
    seed.value += 100
    seed.visits += 1
    if world.random() < 0.3:
        world.spawn(Sprout, origin=seed.id)


@wl.system(where=("kind", 2))
def wither(seed: Seed):
    seed.visits += 10
    if seed.value % 7 == 0:
        seed.despawn()


@wl.system(threads=8)
def tend(world: Garden):
    """Neighbours pass their values on, even places first, then odd ones; as often as the world says."""
    for turn in range(world.count(Seed) % 4 + 1):
        if turn == 2 and world.count(Seed) % 2 == 0:
            world.breaks += 1
            break
        for start in range(2):
            for k in wl.share((world.count(Seed) - start) // 2, disjoint=True):
                left = world.at(Seed, start + 2 * k)
                right = world.at(Seed, start + 2 * k + 1)
                left.value, right.value = right.value + 1, left.value
                left.colour = start
        if turn == 1:
            for k in wl.share(world.count(Seed), disjoint=True):
                world.at(Seed, k).colour += 2
        else:
            for k in wl.share(world.count(Seed) // 2, disjoint=True):
                world.at(Seed, k).colour += 10
    for length in range(world.count(Seed), 0, -3):
        for k in wl.share(length, disjoint=True):
            world.at(Seed, k).colour += 1000
    left_over = world.count(Seed) % 5
    while left_over > 0:
        for k in wl.share(world.count(Seed), disjoint=True):
            world.at(Seed, k).colour += 100
        left_over -= 2
        if left_over == 1:
            continue
        world.turns += 1
    world.sum = 0
    for seed in world.all(Seed):
        world.sum += seed.value
    for sprout in world.all(Sprout):
        sprout.height += world.sum


GARDEN = wl.Definition(
    "SelectedGarden-test",
    Garden,
    {Seed: wl.UpTo(64), Sprout: wl.UpTo(512, overflow="drop"), Pot: 5, Cup: 12, Hand: 9},
    reset=(sow, place, reach),
    step=(grow, wither, tend, water, pour, tire, pour),
)
