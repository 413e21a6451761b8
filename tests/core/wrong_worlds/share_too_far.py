"""Turns that write behind the end."""

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
    for ray in wl.share(5):
        robot.ranges[ray + 4] = 0.0  # WRONG: overflow: 5 iterations from index 4 do not fit into 'ranges' of size 8
