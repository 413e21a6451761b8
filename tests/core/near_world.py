"""A world that asks for neighbours of every kind."""

from __future__ import annotations

import worldloom as wl

DOTS, MOST_BUGS, BEST = 40, 30, 5


class Dot(wl.Entity):
    position: wl.vec2
    deep: wl.vec3
    point: wl.vec2  # where it looks from
    reach: float
    near: wl.Array(int, DOTS)
    best: wl.Array(int, BEST)
    deep_near: wl.Array(int, DOTS)
    deep_best: wl.Array(int, BEST)
    bugs: wl.Array(int, MOST_BUGS)
    bug: int
    loners: int
    odd: int
    pairs: int


class Bug(wl.Entity):
    position: wl.vec2
    age: int


class Loner(wl.Entity):
    place: wl.vec3


class Field(wl.World):
    first: int
    seen: int


@wl.system
def scatter(dot: Dot, world: Field):
    dot.position = wl.vec2(world.random(), world.random())
    dot.deep = wl.vec3(world.random(), world.random(), world.random())
    dot.point = dot.position
    dot.reach = 0.2


@wl.system
def hatch(world: Field):
    for _ in range(world.integer(0, 25)):
        world.spawn(Bug, position=wl.vec2(world.random(), world.random()))


@wl.system
def look(dot: Dot, world: Field):
    for i in range(DOTS):
        dot.near[i] = -1
    n = 0
    for other in world.near(Dot, dot.point, dot.reach):
        dot.near[n] = other.id
        n += 1  # noqa: SIM113
    for i in range(BEST):
        dot.best[i] = -1
    n = 0
    for other in world.nearest(Dot, dot.point, BEST):
        dot.best[n] = other.id
        n += 1  # noqa: SIM113


@wl.system
def look_deep(dot: Dot, world: Field):
    for i in range(DOTS):
        dot.deep_near[i] = -1
    n = 0
    for other in world.near(Dot, dot.deep, dot.reach, by="deep"):
        dot.deep_near[n] = other.id
        n += 1  # noqa: SIM113
    for i in range(BEST):
        dot.deep_best[i] = -1
    n = 0
    for other in world.nearest(Dot, dot.deep, BEST, by="deep"):
        dot.deep_best[n] = other.id
        n += 1  # noqa: SIM113


@wl.system
def look_around(dot: Dot, world: Field):
    for i in range(MOST_BUGS):
        dot.bugs[i] = -1
    n = 0
    for bug in world.near(Bug, dot.point, dot.reach):
        dot.bugs[n] = bug.id
        n += 1  # noqa: SIM113
    dot.bug = -1
    for bug in world.nearest(Bug, dot.point, 1):
        dot.bug = bug.id
    dot.loners = 0
    for _loner in world.near(Loner, dot.deep, dot.reach, by="place"):
        dot.loners += 1


@wl.system
def jump_about(dot: Dot, world: Field):
    dot.odd = 0
    for other in world.near(Dot, wl.vec2(world.random(), 0.5), 0.4):
        if other.id % 2 == 0:
            continue
        if dot.odd > 100:
            break
        dot.odd += other.id
    dot.pairs = 0
    for one in world.nearest(Dot, dot.point, 4):
        if one.id == dot.id:
            continue
        for two in world.near(Dot, one.position, 0.1):
            if two.id == one.id:
                break
            dot.pairs += 1
        if dot.pairs > 3:
            break


@wl.system
def survey(world: Field):
    world.first = -1
    world.seen = 0
    for bug in world.near(Bug, wl.vec2(0.5, 0.5), 0.3):
        if world.first < 0:
            world.first = bug.id
        world.seen += 1


@wl.system
def live(bug: Bug, world: Field):
    bug.age += 1
    bug.position += wl.vec2(world.random(-0.05, 0.05), world.random(-0.05, 0.05))
    if world.random() < 0.2:
        world.spawn(Bug, position=bug.position)
    if bug.age > 6:
        bug.despawn()


@wl.system
def move(dot: Dot, world: Field):
    dot.position += wl.vec2(world.random(-0.05, 0.05), world.random(-0.05, 0.05))
    dot.point = dot.position


MEADOW = wl.Definition(
    "Neighbours-v0",
    world=Field,
    entities={Dot: DOTS, Bug: wl.UpTo(MOST_BUGS, overflow="drop"), Loner: 1},
    reset=(scatter, hatch),
    step=(look, look_deep, look_around, jump_about, survey, live, move),
    max_steps=9,
)
