"""A system called by a system."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def push(ball: Ball):
    ball.x += 1.0


@wl.system
def rule(ball: Ball, world: Table):
    push(ball)  # WRONG: 'push' is a system, which only the engine calls
