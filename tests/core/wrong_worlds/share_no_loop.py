"""A shared loop that is none."""

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
    robot.hits = wl.share(8)  # WRONG: wl.share\(...\) can only be looped over
