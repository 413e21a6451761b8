"""Several threads for the world alone."""

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


@wl.system(threads=64)
def rule(world: Yard):  # WRONG: a system over the world alone has no entity
    world.total = 1.0
