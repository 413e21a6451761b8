"""Neighbours of a place with too many axes."""

import worldloom as wl


class Ball(wl.Entity):
    position: wl.vec2
    x: float
    spots: wl.Array(wl.vec2, 4)
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    for other in world.near(Ball, wl.vec3(0.0, 0.0, 0.0), 1.0):  # WRONG: wrong type: the position given to world.near is vec2, but the value is vec3
        ball.hits += 1


wl.register("Wrong-v0", world=Table, entities={Ball: 4}, step=[rule])
