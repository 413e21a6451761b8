"""A pair that reads what pairs add up."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Wall(wl.Entity):
    x: float


class Table(wl.World):
    total: float


@wl.system
def rule(a: Ball, b: Ball):
    if a.x < 1.0:  # WRONG: race: it reads 'x' of another Ball and adds to it
        b.x += 1.0
