"""A function of vectors on a number."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.x = wl.length(ball.x)  # WRONG: wrong type: 'length' does not take \(float\)
