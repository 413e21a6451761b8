"""Bits of a real number."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.hits = ball.x & 3  # WRONG: wrong type: bit operators take integers only
