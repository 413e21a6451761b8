"""Worlds of pair systems and of systems with several threads per entity.

All that decides anything is whole numbers, and real ones that hold them exactly, so that every device must give the
same bits.
"""

from __future__ import annotations

import worldloom as wl

RAYS = 40


class Robot(wl.Entity):
    x: int
    y: int
    rays: int  # how many it casts
    age: int
    ranges: wl.Array(float, RAYS)
    smooth: wl.Array(float, RAYS)
    echoes: wl.Array(int, RAYS, 2)
    histogram: wl.Array(int, 4)
    path: wl.Array(int, 4)
    halves: wl.Array(int, 2 * RAYS)
    nearest: float
    farthest: int
    hits: int
    far_hits: int
    blocked: bool
    clear: bool
    total: float
    dice: float


class Post(wl.Entity):
    x: int
    y: int
    seen: int


class Echo(wl.Event):
    robot: wl.Ref[Robot]
    strength: int


class Yard(wl.World):
    hits: int
    echoes: int
    reach: wl.Config = 60


@wl.system
def park(robot: Robot, world: Yard):
    robot.x = world.integer(16)
    robot.y = world.integer(16)


@wl.system
def plant(post: Post, world: Yard):
    post.x = world.integer(16)
    post.y = world.integer(16)


@wl.system
def drive(robot: Robot, world: Yard):
    robot.x += world.integer(-1, 2)
    robot.y += world.integer(-1, 2)
    robot.rays = world.integer(0, RAYS + 1)


@wl.system
def listen(echo: Echo, world: Yard):
    world.echoes += echo.strength
    if echo.robot.alive:
        echo.robot.get().far_hits += 1


def yard(threads: int, faulty: bool = False, robots: int = 2) -> wl.Definition:
    """Robots that look around with ``threads`` threads each; ``faulty`` ones go wrong now and then."""

    @wl.system(threads=threads)
    def look(robot: Robot, world: Yard):
        robot.age += 1
        if robot.age % 5 == 4:
            robot.dice = world.random()
            return
        robot.path[robot.age if faulty else robot.age % 4] = robot.x
        steps = robot.path[0]
        robot.path[0] += 1
        bias = world.integer(3) + robot.path[0] - steps + robot.path[robot.age if faulty else 1]
        robot.nearest = float(world.reach)
        robot.hits = robot.path[0]
        robot.blocked = False
        robot.clear = True
        for ray in wl.share(robot.rays):
            across, up = ray % 7 - 3, ray // 7 - 3
            best = world.reach
            for post in world.all(Post):
                ahead = (post.x - robot.x) * across + (post.y - robot.y) * up
                aside = (post.x - robot.x) * up - (post.y - robot.y) * across
                if ahead <= 0:
                    continue
                if abs(aside) <= 2 and ahead < best:
                    best = ahead
                if aside == 0:
                    post.seen += 1
            robot.ranges[ray] = float(best + world.integer(4) * bias)
            robot.echoes[ray, 0] = best
            robot.echoes[ray, 1] += 1
            if faulty and best == 7:
                world.fail("a ray of length 7 was cast, the {value}th", ray)
            if best < world.reach:
                robot.hits += 1
                robot.histogram[best % 4] += ray
                robot.blocked |= ray == 3
                robot.clear &= best > 2
                world.hits += 1
            else:
                continue
            robot.nearest = min(robot.nearest, float(best))
            robot.farthest = max(robot.farthest, best)
        robot.dice = world.random()
        total = 0.0
        for ray in range(robot.rays):
            total += robot.ranges[ray]
        robot.total = total
        for turn in range(2):
            before = robot.hits
            robot.hits = turn
            for ray in wl.share(robot.rays):
                robot.smooth[ray] = robot.ranges[(ray + turn) % RAYS] + float(before)
                if robot.ranges[ray] > 10.0:
                    robot.hits -= 1
            robot.total += robot.smooth[turn]
        if robot.hits > 0:
            for ray in wl.share(4):
                robot.path[ray] += robot.hits
        for ray in wl.share(RAYS):
            robot.halves[ray] += ray
            robot.halves[RAYS + ray] = robot.halves[ray] - robot.halves[ray + RAYS] + robot.x
        if robot.nearest < 3.0:
            world.spawn(Echo, robot=robot.ref, strength=robot.hits)
        if robot.farthest > 50:
            world.truncate()

    entities = {Robot: robots, Post: 5, Echo: wl.UpTo(8)}
    return wl.Definition(
        f"Yard{threads}-test", Yard, entities, reset=(park, plant), step=(drive, look, listen), max_steps=20
    )


# -- pairs -----------------------------------------------------------------------------------------------------------


class Ball(wl.Entity):
    x: int
    push: float
    touched: int
    best: int = -1


class Wolf(wl.Entity):
    x: int
    eaten: int


class Sheep(wl.Entity):
    x: int
    seen: int
    fear: int


class Birth(wl.Event):
    one: wl.Ref[Sheep]
    two: wl.Ref[Sheep]
    number: int


class Table(wl.World):
    bumps: int
    last: int = -1
    meetings: int
    births: int
    reach: wl.Config = 4


@wl.system
def scatter(ball: Ball, world: Table):
    ball.x = world.integer(20)


@wl.system
def settle_in(world: Table):
    for i in range(3 + world.integer(4)):
        world.spawn(Sheep, x=world.integer(20))
    for i in range(world.integer(4)):
        world.spawn(Wolf, x=world.integer(20))


@wl.system
def bump(a: Ball, b: Ball, world: Table):
    if abs(a.x - b.x) < world.reach:
        a.push += float(a.x - b.x)
        b.push -= float(a.x - b.x)
        a.touched += 1
        b.touched += 1
        b.best = max(b.best, a.id)
        world.bumps += 1
        world.last = max(world.last, 1000 * a.id + b.id)


@wl.system
def roll(ball: Ball, world: Table):
    ball.x += world.integer(-1, 2)


@wl.system
def hunt(wolf: Wolf, sheep: Sheep, world: Table):
    sheep.seen += 1
    if abs(wolf.x - sheep.x) < 2:
        sheep.fear += world.integer(1, 5)
        if world.integer(2) == 0:
            wolf.eaten += 1
            sheep.despawn()
            if world.integer(3) == 0:
                world.spawn(Wolf, x=sheep.x)


@wl.system
def meet(one: Sheep, two: Sheep, world: Table):
    world.meetings += 1
    if abs(one.x - two.x) < 6:
        lamb = world.spawn(Sheep, x=(one.x + two.x) // 2 + world.integer(-3, 4))
        if lamb.alive:  # not before the system is over
            world.births += 1000
        world.spawn(Birth, one=one.ref, two=two.ref, number=one.id * 100 + two.id)


@wl.system
def count_births(birth: Birth, world: Table):
    if birth.one.alive and birth.two.alive and birth.one.get().id < birth.two.get().id:
        world.births += birth.number


@wl.system
def leave(wolf: Wolf, sheep: Sheep):
    if sheep.fear > 6:
        sheep.despawn()
    if wolf.eaten > 3:
        wolf.despawn()


@wl.system
def graze(sheep: Sheep, world: Table):
    sheep.x += world.integer(-2, 3)
    if world.random() < 0.2:
        sheep.despawn()


@wl.system
def close_up(world: Table):
    if world.count(Sheep) == 0:
        world.terminate()


PAIRS = wl.Definition(
    "Pairs-test",
    Table,
    {Ball: 9, Wolf: wl.UpTo(6, overflow="drop"), Sheep: wl.UpTo(14, overflow="drop"), Birth: wl.UpTo(91)},
    reset=(scatter, settle_in),
    step=(bump, roll, hunt, leave, graze, meet, count_births, close_up),
    max_steps=60,
)


class Strip(wl.Entity):
    short: wl.Array(float, 63)  # 252 bytes
    long: wl.Array(float, 90, 3)
    deep: wl.Array(int, 144)


class Strips(wl.World):
    pass


def strips(threads: int, count: int = 5) -> wl.Definition:
    """Entities with a short and a long array, which are stored in shared loops."""

    @wl.system(threads=threads)
    def draw(strip: Strip):
        for place in wl.share(63):
            strip.short[place] += 1.0
        for place in wl.share(64):
            strip.long[8 + place, 1] = float(place + strip.id)
        for place in wl.share(64):
            strip.deep[80 + place] = strip.deep[place] + 1

    return wl.Definition(f"Strips{threads}-test", Strips, {Strip: count}, step=(draw,))
