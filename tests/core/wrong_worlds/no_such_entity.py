"""A system over a kind that the world does not have."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


class Wall(wl.Entity):
    x: float


@wl.system
def rule(ball: Ball, world: Table):  # WRONG: no entity of 'Wrong-v0' matches its parameter \(Ball\)
    ball.x += world.width


wl.register("Wrong-v0", world=Table, entities={Wall: 1}, step=[rule])
