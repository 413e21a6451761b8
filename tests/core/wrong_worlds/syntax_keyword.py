"""A keyword argument."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.x = wl.clamp(ball.x, a=0.0, b=1.0)  # WRONG: a keyword argument is not supported
