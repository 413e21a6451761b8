"""A shared loop over the world alone."""

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


@wl.system
def rule(world: Yard):
    for ray in wl.share(8):  # WRONG: race: iterations of a shared loop run at the same time, and may change the same entity
        world.total += 1.0
