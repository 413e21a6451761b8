"""A variable deleted."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    a = 1.0
    del a  # WRONG: 'del a' is not supported
    ball.x = 1.0
