"""A chained assignment."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    a = b = 1.0  # WRONG: a chained assignment is not supported
    ball.x = a + b
