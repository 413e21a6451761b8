"""A parameter without an annotation."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball):  # WRONG: parameter 'ball' is neither an entity nor a world
    ball.x = 1.0
