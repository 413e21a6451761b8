"""A variable that changes its type."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    n = 1
    n = ball.x  # WRONG: wrong type: variable 'n' is int, but the value is float
