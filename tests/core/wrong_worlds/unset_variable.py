"""A variable that only one branch sets."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    if ball.x > 0.0:
        sign = 1.0
    ball.x = sign  # WRONG: 'sign' may be unassigned here
