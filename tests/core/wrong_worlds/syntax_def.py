"""A function in a system."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    def double(v):  # WRONG: is not supported
        return 2.0 * v
    ball.x = double(ball.x)
