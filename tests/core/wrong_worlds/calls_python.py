"""A Python function without a decorator."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


def double(v):
    return 2.0 * v


@wl.system
def rule(ball: Ball, world: Table):
    ball.x = double(ball.x)  # WRONG: 'double' cannot be called in a system
