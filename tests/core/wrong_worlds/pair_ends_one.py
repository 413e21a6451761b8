"""A pair that ends the episode of one of the two."""

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
    a.terminate()  # WRONG: race: one entity cannot end the episode of another
