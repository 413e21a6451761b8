"""A real number for a whole parameter."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.function
def twice(n: int):
    return 2 * n


@wl.system
def rule(ball: Ball, world: Table):
    ball.hits = twice(ball.x)  # WRONG: wrong type: argument 'n' of 'twice' is int, but the value is float
