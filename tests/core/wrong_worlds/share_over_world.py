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
    for ray in wl.share(8):  # WRONG: a shared loop needs a system over one entity, whose threads share it
        world.total += 1.0
