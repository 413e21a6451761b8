"""A list of the module, which a compiled system cannot see."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


PLACES = [1.0, 2.0]


@wl.system
def rule(ball: Ball, world: Table):
    ball.x = PLACES  # WRONG: 'PLACES' is a Python object of type list
