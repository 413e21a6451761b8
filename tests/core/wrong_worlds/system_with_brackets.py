"""A system with empty brackets."""

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


@wl.system()  # WRONG: @wl.system\(\) has brackets
def rule(robot: Robot):
    robot.hits += 1
