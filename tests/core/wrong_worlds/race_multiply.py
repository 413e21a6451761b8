"""A product over many entities in no order."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    for other in world.all(Ball):
        other.x *= 2.0  # WRONG: race: 'other.x \*= 2.0' changes what other entities change
