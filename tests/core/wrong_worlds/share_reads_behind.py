"""A turn that reads what another writes."""

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
    for ray in wl.share(4):
        robot.ranges[ray] = robot.ranges[ray + 1]  # WRONG: race: two iterations use the same element of 'ranges', at offsets 0 and 1
