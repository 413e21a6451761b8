"""Worlds whose populations share the rows of the batch, for tests."""

from __future__ import annotations

from dataclasses import replace

import worldloom as wl


class Mote(wl.Entity):
    """Drifts, ages, breeds, and is put out by the sparks of others."""

    place: wl.vec2
    heat: float = 1.0
    age: int
    parent: wl.Ref("Mote")
    orphan: bool
    marks: wl.Array(int, 3)


class Nest(wl.Entity):
    left: int = 6


class Spark(wl.Event):
    at: wl.Ref(Mote)
    strength: float


class Air(wl.World):
    breeding: wl.Config = 0.17
    sparks: int
    warmth: float


@wl.system
def open_nests(nest: Nest, world: Air):
    for _ in range(world.integer(1, 4)):
        world.spawn(Mote, place=wl.vec2(world.random(), world.random()), heat=world.random(0.5, 2.0))


@wl.system
def drift(mote: Mote, world: Air):
    mote.place += wl.vec2(world.random(-0.1, 0.1), world.random(-0.1, 0.1))
    mote.age += 1
    mote.marks[mote.age % 3] += mote.id
    mote.orphan = not mote.parent.alive
    if world.random() < world.breeding:
        for _ in range(world.integer(1, 3)):
            world.spawn(Mote, place=mote.place, heat=mote.heat * 0.5, parent=mote.ref)
    if world.random() < 0.08 * mote.age:
        mote.despawn()


@wl.system
def inherit(mote: Mote, world: Air):
    if mote.parent.alive:
        mote.heat += 0.25 * float(mote.parent.get().marks[0] % 2)


@wl.system
def strike(mote: Mote, world: Air):
    for other in world.all(Mote):
        if other.id > mote.id and wl.length(other.place - mote.place) < 0.08:
            world.spawn(Spark, at=other.ref, strength=mote.heat)


@wl.system
def burn(spark: Spark, world: Air):
    world.sparks += 1
    if spark.at.alive and spark.strength > 1.0:
        spark.at.get().despawn()


@wl.system
def hatch(nest: Nest, world: Air):
    if nest.left > 0 and world.random() < 0.2:
        nest.left -= 1
        world.spawn(Mote, heat=2.0)


@wl.system
def weigh(world: Air):
    world.warmth = 0.0
    for mote in world.all(Mote):
        world.warmth += mote.heat
    if world.count(Mote) == 0:
        world.terminate()


PER_WORLD = wl.Definition(
    "Motes-test",
    Air,
    {Nest: 2, Mote: wl.UpTo(24, overflow="drop"), Spark: wl.UpTo(40, overflow="reset")},
    reset=(open_nests,),
    step=(drift, inherit, strike, burn, hatch, weigh),
    max_steps=50,
)


def pooled(motes: int, sparks: int) -> wl.Definition:
    """The same worlds with rows for the whole batch."""
    entities = {
        Nest: 2,
        Mote: wl.UpTo(24, batch=motes, overflow="drop"),
        Spark: wl.UpTo(40, batch=sparks, overflow="reset"),
    }
    return replace(PER_WORLD, entities=entities)


class Seed(wl.Entity):
    number: int
    sown: int


class Bed(wl.World):
    births: wl.Config = 0
    oldest: wl.Config = 1000
    total: int
    here: int


@wl.system
def wither(seed: Seed, world: Bed):
    if seed.sown + world.oldest <= world.step:
        seed.despawn()


@wl.system
def sow(world: Bed):
    for _ in range(world.births):
        world.total += 1
        world.spawn(Seed, number=world.total, sown=world.step)


@wl.system
def tally(world: Bed):
    world.here = world.count(Seed)


def bed(overflow: str, per_world: int = 6, batch: int | None = 12) -> wl.Definition:
    """Every world sows ``births`` seeds in a step, numbered from 1, and loses those that are ``oldest`` steps old."""
    return wl.Definition(
        "Bed-test", Bed, {Seed: wl.UpTo(per_world, batch=batch, overflow=overflow)}, step=(wither, sow, tally)
    )


class Ember(wl.Entity):
    heat: float


class Hearth(wl.World):
    last: wl.Ref(Ember)


@wl.system
def light(world: Hearth):
    world.last = world.spawn(Ember, heat=1.0)


@wl.system
def die_down(ember: Ember, world: Hearth):
    if world.id == 0:
        ember.despawn()


@wl.system
def poke(world: Hearth):
    ember = world.last.get()
    ember.heat += 0.0
    if world.id == 0:
        ember.heat += 5.0
        ember.despawn()


STALE = wl.Definition("Embers-test", Hearth, {Ember: wl.UpTo(2, batch=5)}, reset=(light,), step=(die_down, poke))
"""The ember of world 0 leaves at once, and then somebody follows the reference to it."""


class Gnat(wl.Entity):
    position: wl.vec2
    crowd: int
    nearest: int
    bumps: int


class Dusk(wl.World):
    meetings: int


@wl.system
def swarm(world: Dusk):
    for _ in range(world.integer(2, 9)):
        world.spawn(Gnat, position=wl.vec2(world.random(), world.random()))


@wl.system
def dance(gnat: Gnat, world: Dusk):
    gnat.position += wl.vec2(world.random(-0.1, 0.1), world.random(-0.1, 0.1))
    if world.random() < 0.2:
        world.spawn(Gnat, position=gnat.position)
    if world.random() < 0.2:
        gnat.despawn()


@wl.system
def look_around(gnat: Gnat, world: Dusk):
    gnat.crowd = 0
    for other in world.near(Gnat, gnat.position, 0.2):
        gnat.crowd += other.id + 1
    for other in world.nearest(Gnat, gnat.position, 2):
        gnat.nearest = other.id


@wl.system
def bump(a: Gnat, b: Gnat, world: Dusk):
    if wl.length(a.position - b.position) < 0.1:
        a.bumps += 1
        b.bumps += 1
        world.meetings += 1


def gnats(batch: int | None) -> wl.Definition:
    """Neighbours and pairs among entities that come and go."""
    return wl.Definition(
        "Gnats-test",
        Dusk,
        {Gnat: wl.UpTo(30, batch=batch, overflow="drop")},
        reset=(swarm,),
        step=(dance, look_around, bump),
        max_steps=10,
    )
