"""More pairs than can be counted."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Wall(wl.Entity):
    x: float


class Table(wl.World):
    total: float


@wl.system
def rule(a: Ball, b: Ball, world: Table):  # WRONG: there are up to 4,999,950,000 pairs
    a.hits += 1


wl.register("Wrong-v0", world=Table, entities={Ball: 100_000}, step=[rule])
