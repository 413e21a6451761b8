"""A pair that despawns of a fixed number."""

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
    b.despawn()  # WRONG: it changes how many 'Ball' there are


wl.register("Wrong-v0", world=Table, entities={Ball: 2}, step=[rule])
