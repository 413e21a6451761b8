"""A with statement."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    with open('log'):  # WRONG: 'with open\('log'\):' is not supported
        ball.x = 1.0
