"""A turn that reads the element of another."""

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
    for ray in wl.share(8):
        robot.ranges[ray] = robot.ranges[7 - ray]  # WRONG: race: an iteration reads 'ranges' while other iterations of the same loop write it
