"""Two turns that write the same element."""

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
        robot.ranges[ray] = 0.0
        robot.ranges[3 + ray] = 1.0  # WRONG: race: a turn's element of 'ranges' is another turn's too, 3 places behind its own
