"""A pair with a kind that the world does not have."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Wall(wl.Entity):
    x: float


class Table(wl.World):
    total: float


@wl.system
def rule(ball: Ball, wall: Wall):  # WRONG: it looks for entities of kind 'Wall'
    ball.hits += 1


wl.register("Wrong-v0", world=Table, entities={Ball: 2}, step=[rule])
