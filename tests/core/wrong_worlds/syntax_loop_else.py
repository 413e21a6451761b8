"""An else after a loop."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    for i in range(3):  # WRONG: 'else' after a loop is not supported
        ball.hits += i
    else:
        ball.hits = 0
