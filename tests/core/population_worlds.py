"""A world whose entities execute commands written from outside: every change of a population, in one step.

``population_model`` is a model of the systems in plain Python. Each line of a system is a way to spawn, to despawn, to
refer to an entity, or to search for entities.
"""

from dataclasses import dataclass

import worldloom as wl


class Aging(wl.Components):
    age: int


class Mote(wl.Entity, Aging):
    order: int  # what it does in this step, bit by bit
    number: int = 7
    weight: float = 1.5
    place: wl.vec2 = (0.5, -1.0)
    lit: bool
    friend: wl.Ref["Mote"]
    husk: wl.Ref["Husk"]
    cards: wl.Array(int, 2, 2)
    hits: int
    seen: int


class Husk(wl.Entity, Aging):
    origin: wl.Ref[Mote]
    number: int = -1


class Spark(wl.Event):
    who: wl.Ref[Mote]
    strength: int


class Warden(wl.Entity):
    """One of a fixed number, who spawns and despawns others."""

    order: int
    friend: wl.Ref[Mote]
    heard: int
    sight: wl.Observation(2)


class Field(wl.World):
    order: int
    chosen: wl.Ref[Mote]
    motes: int
    sparks: int
    struck: int
    missed: int
    checksum: int


@wl.system
def start(world: Field):
    for k in range(1 + world.episode % 3):
        world.chosen = world.spawn(Mote, number=k)
    world.spawn(Husk, origin=world.chosen)


@wl.system
def greet(mote: Mote, world: Field):
    mote.friend = mote.ref
    if mote.id == 0:
        world.spawn(Spark, who=mote.ref, strength=world.count(Husk))


@wl.system
def lead(world: Field):
    for k in range(world.order % 4):
        child = world.spawn(Mote, number=world.order + k, order=16 * k)
        if k == 1:
            world.chosen = child
    for mote in world.all(Mote):
        if mote.id == world.order // 4 % 8:
            mote.despawn()
            mote.despawn()
        if mote.lit:
            world.spawn(Husk, origin=mote.ref, number=mote.id)
            world.spawn(Spark, strength=1)
    if world.order >= 48 and world.chosen.alive:
        world.chosen.get().despawn()


@wl.system
def act(mote: Mote, world: Field):
    mote.seen = (1 if mote.friend.alive else 0) + (2 if mote.husk.alive else 0) + 4 * world.count(Mote)
    if mote.friend.alive:
        mote.seen += 32 * mote.friend.get().number
    mote.cards[mote.order % 2, 1] += mote.order
    if mote.order & 1:
        mote.despawn()
    if mote.order & 2:
        mote.friend = world.spawn(
            Mote,
            number=mote.number * 3 % 101,
            weight=mote.weight * 0.5 + 1.0,
            place=mote.place + wl.vec2(1.0, 0.5),
            lit=not mote.lit,
            friend=mote.ref,
        )
    if mote.order & 4:
        mote.husk = world.spawn(Husk, origin=mote.ref, number=mote.number)
    if mote.order & 8:
        mote.despawn()
    if mote.order & 16:
        world.spawn(Spark, who=mote.friend, strength=mote.id + 1)
    if mote.order & 32 and mote.friend.alive:
        mote.friend.get().despawn()
    if mote.order & 64:
        mote.lit = not mote.lit


@wl.system
def tend(warden: Warden, world: Field):
    for k in range(warden.order % 4):
        world.spawn(Husk, origin=warden.friend, number=100 + 10 * warden.id + k)
    for mote in world.all(Mote):
        if mote.id == warden.order // 4 % 8:
            warden.friend = mote.ref
    for husk in world.all(Husk):
        if husk.number == warden.order:
            husk.despawn()
    if warden.order >= 200 and world.count(Mote) > 0:
        warden.heard = warden.friend.get().number  # whether it is still there or not


@wl.system
def strike(spark: Spark, world: Field):
    if spark.who.alive:
        spark.who.get().hits += spark.strength
        world.struck += spark.strength
    else:
        world.missed += 1


@wl.system
def wither(body: wl.Has(Aging)):
    body.age += 1
    if body.age > 6:
        body.despawn()


@wl.system
def tally(world: Field):
    world.motes = world.count(Mote)
    world.sparks = world.count(Spark)
    total = 0
    for mote in world.all(Mote):
        total = (total * 31 + mote.number + mote.hits) % 9973
    for husk in world.all(Husk):
        total = (total * 31 + husk.number + (5 if husk.origin.alive else 0)) % 9973
    world.checksum = total
    if world.order == 61:
        world.terminate()
    if world.order == 62:
        world.truncate()


@wl.system
def part(world: Field):
    """Nobody looks at the new ones before the step is over."""
    if world.order % 16 == 5:
        world.spawn(Mote, number=world.step)
        world.spawn(Spark, who=world.chosen, strength=3)


@wl.system
def look(warden: Warden, world: Field):
    warden.sight = wl.vec2(float(world.count(Spark)), float(world.count(Husk)))


@dataclass(frozen=True, eq=False)
class Rules:
    """One variant of the world: who may be how many, and what follows when they are more."""

    name: str
    autoreset: str
    limits: dict[str, wl.UpTo]
    max_steps: int = 15
    wardens: int = 2

    @property
    def definition(self) -> wl.Definition:
        kinds = {"Mote": Mote, "Husk": Husk, "Spark": Spark}
        return wl.Definition(
            f"Motes-{self.name}",
            Field,
            {Warden: self.wardens, **{kinds[name]: limit for name, limit in self.limits.items()}},
            reset=(start, greet),
            step=(lead, act, tend, strike, wither, tally, part),
            observe=(look,),
            max_steps=self.max_steps,
        )


def limits(mote: wl.UpTo, husk: wl.UpTo, spark: wl.UpTo) -> dict[str, wl.UpTo]:
    return {"Mote": mote, "Husk": husk, "Spark": spark}


VARIANTS = [
    Rules(
        "drop",
        "same_step",
        limits(wl.UpTo(6, overflow="drop"), wl.UpTo(6, overflow="drop"), wl.UpTo(4, overflow="drop")),
    ),
    Rules(
        "reset",
        "next_step",
        limits(wl.UpTo(6, overflow="reset"), wl.UpTo(6, overflow="drop"), wl.UpTo(4, overflow="drop")),
    ),
    Rules("error", "same_step", limits(wl.UpTo(6), wl.UpTo(6, overflow="drop"), wl.UpTo(4))),
    Rules(
        "disabled",
        "disabled",
        limits(wl.UpTo(6, overflow="drop"), wl.UpTo(6), wl.UpTo(9, overflow="drop")),
        max_steps=0,
    ),
]
CROWDED = Rules(
    "crowded",
    "same_step",
    limits(wl.UpTo(70, overflow="drop"), wl.UpTo(100, overflow="drop"), wl.UpTo(40, overflow="drop")),
    max_steps=0,
)
"""More than the threads of a warp in every world."""
