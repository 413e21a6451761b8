"""Starred arguments."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    pair = wl.vec2(1.0, 2.0)
    ball.x = wl.length(wl.vec2(*pair))  # WRONG: '\*' in a call is not supported
