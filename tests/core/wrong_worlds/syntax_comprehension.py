"""A list comprehension."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    places = [other.x for other in world.all(Ball)]  # WRONG: is not supported
