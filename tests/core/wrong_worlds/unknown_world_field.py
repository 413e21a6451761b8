"""A field of the world that was never declared."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.x = world.height  # WRONG: unknown component 'height': Table has total, width
