"""A method that worlds do not have."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.x = world.gauss()  # WRONG: unknown method 'world.gauss'
