"""A system whose decorator was forgotten."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


def rule(ball: Ball, world: Table):
    ball.x += world.width


wl.register("Wrong-v0", world=Table, entities={Ball: 2}, step=[rule])  # WRONG: 'rule' is no system yet
