"""A member of nothing."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    if ball.hits in ():  # WRONG: an empty list contains nothing
        ball.x = 1.0
