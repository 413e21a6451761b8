"""An exception handler."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    try:  # WRONG: 'try:' is not supported
        ball.x = 1.0 / ball.x
    except ZeroDivisionError:
        ball.x = 0.0
