"""More pairs than serial numbers of new entities."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Wall(wl.Entity):
    x: float


class Table(wl.World):
    total: float


@wl.system
def rule(a: Ball, b: Ball, world: Table):  # WRONG: spawns entities from up to 49,995,000 pairs
    world.spawn(Wall)


wl.register("Wrong-v0", world=Table, entities={Ball: 10_000, Wall: wl.UpTo(5)}, step=[rule])
