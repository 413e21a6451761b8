"""A loop over a tuple."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    for v in (1.0, 2.0):  # WRONG: a loop over '\(1.0, 2.0\)' is not supported
        ball.x += v
