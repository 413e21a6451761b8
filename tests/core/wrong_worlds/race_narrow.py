"""A sum in eight bits, which no device adds to at once."""

import worldloom as wl


class Ball(wl.Entity):
    small: wl.uint8


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    for other in world.all(Ball):
        other.small += 1  # WRONG: 'small' is uint8, too narrow for accumulation by several entities
