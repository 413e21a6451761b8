"""A real number into a whole one."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.hits = ball.x  # WRONG: wrong type: 'hits' is int, but the value is float
