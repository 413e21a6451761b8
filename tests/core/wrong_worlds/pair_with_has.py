"""A pair with a query."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Wall(wl.Entity):
    x: float


class Table(wl.World):
    total: float


class Solid(wl.Components):
    size: float


@wl.system
def rule(a: Ball, b: wl.Has(Solid)):  # WRONG: a pair consists of two kinds of entity, not of wl.Has queries
    a.hits += 1
