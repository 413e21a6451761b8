"""Several threads for a pair."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Wall(wl.Entity):
    x: float


class Table(wl.World):
    total: float


@wl.system(threads=32)
def rule(a: Ball, b: Ball):  # WRONG: a system over pairs has no entity
    a.hits += 1
