"""Turns that change a part of a vector of all threads."""

import worldloom as wl


class Robot(wl.Entity):
    x: float
    hits: int
    place: wl.vec2
    ranges: wl.Array(float, 8)
    counts: wl.Array(int, 8)


class Spark(wl.Event):
    x: float


class Yard(wl.World):
    total: float


@wl.system(threads=32)
def rule(robot: Robot, world: Yard):
    way = wl.vec2(0.0, 0.0)
    for ray in wl.share(8):
        way.x = 1.0  # WRONG: all would change 'way'
    robot.place = way
