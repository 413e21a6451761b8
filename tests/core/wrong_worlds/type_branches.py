"""A ternary of a number and a vector."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    a = ball.x if ball.hits > 0 else wl.vec2(1.0, 2.0)  # WRONG: wrong type: the other branch is float, but the value is vec2
    ball.x = 1.0
