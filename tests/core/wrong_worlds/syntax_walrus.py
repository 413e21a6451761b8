"""An assignment inside an expression."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    if (n := ball.hits) > 0:  # WRONG: is not supported
        ball.x = float(n)
