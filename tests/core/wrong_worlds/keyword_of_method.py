"""Bounds given by name."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.x = world.random(low=5.0, high=6.0)  # WRONG: a keyword argument is not supported
