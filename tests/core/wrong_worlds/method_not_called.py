"""A method without its brackets."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    world.terminate  # WRONG: 'terminate' is a method
