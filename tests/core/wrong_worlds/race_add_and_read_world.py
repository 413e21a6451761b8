"""It adds to the world and reads the sum at once."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    world.total += ball.x  # WRONG: race: it adds to 'world.total' and reads it
    ball.x = world.total
