"""Two elements of each of nobody knows how many turns."""

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
    for ray in wl.share(robot.hits):
        robot.ranges[ray] = 0.0
        robot.ranges[ray + 4] = 1.0  # WRONG: race: two iterations use the same element of 'ranges', at offsets 0 and 4
