"""A variable of the turns, read after them."""

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
        found = float(ray)
    robot.x = found  # WRONG: 'found' may be unassigned here
