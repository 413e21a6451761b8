"""Worlds whose entities spawn and despawn as their commands say, for compactions of large populations."""

import worldloom as wl

LEAVE, SPLIT, SPLIT_THRICE, FLASH = 1, 2, 4, 8
"""Bits of a command: despawn, spawn another, spawn three more, and spawn an event."""


class Grain(wl.Entity):
    command: int
    number: int = 7
    cards: wl.Array(int, 2, 2)
    parent: wl.Ref["Grain"]
    age: int


class Flash(wl.Event):
    number: int
    whose: wl.Ref[Grain]


class Heap(wl.World):
    grains: wl.Config = 5
    heard: int
    orphans: int


@wl.system
def pour(world: Heap):
    for k in range(world.grains):
        world.spawn(Grain, number=k)


@wl.system
def act(grain: Grain, world: Heap):
    grain.age += 1
    grain.cards[grain.age % 2, 1] += grain.number
    children = (1 if grain.command & SPLIT else 0) + (3 if grain.command & SPLIT_THRICE else 0)
    for k in range(children):
        world.spawn(Grain, number=grain.number * 3 % 1001 + k, parent=grain.ref)
    if grain.command & FLASH:
        world.spawn(Flash, number=grain.number, whose=grain.ref)
    if grain.command & LEAVE:
        grain.despawn()


@wl.system
def listen(world: Heap):
    world.heard = 0
    for flash in world.all(Flash):
        world.heard = (world.heard * 31 + flash.number) % 10007
    world.orphans = 0
    for grain in world.all(Grain):
        if not grain.parent.alive:
            world.orphans += 1


def heap(capacity: int, overflow: str = "error") -> wl.Definition:
    """Worlds with room for so many grains, and as many events."""
    kinds = {Grain: wl.UpTo(capacity, overflow=overflow), Flash: wl.UpTo(capacity, overflow=overflow)}
    return wl.Definition(f"Heap{capacity}{overflow}-test", Heap, kinds, reset=(pour,), step=(act, listen))
