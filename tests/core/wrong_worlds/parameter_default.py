"""A parameter with a default."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, speed: float = 1.0):  # WRONG: parameters are plain names with annotations
    ball.x = speed
