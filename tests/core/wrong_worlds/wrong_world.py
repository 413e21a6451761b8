"""A system written for another world."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


class Court(wl.World):
    width: wl.Config = 3.0


@wl.system
def rule(ball: Ball, world: Table):  # WRONG: its world parameter is Table, but 'Wrong-v0' is made of Court
    ball.x += world.width


wl.register("Wrong-v0", world=Court, entities={Ball: 1}, step=[rule])
