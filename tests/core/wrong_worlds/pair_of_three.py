"""A system over three entities."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Wall(wl.Entity):
    x: float


class Table(wl.World):
    total: float


@wl.system
def rule(a: Ball, b: Ball, wall: Wall):  # WRONG: one entity or a pair, not three
    a.hits += 1
