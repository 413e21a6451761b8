"""A number of the turn that has a value before."""

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
    ray = 3
    for ray in wl.share(8):  # WRONG: 'ray' is assigned before the shared loop
        robot.hits += 1
