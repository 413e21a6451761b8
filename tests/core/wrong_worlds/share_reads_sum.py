"""A turn that reads what the turns add up."""

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
        robot.hits += 1
        robot.ranges[ray] = float(robot.hits)  # WRONG: race: an iteration reads 'hits' while other iterations of the same loop write it
