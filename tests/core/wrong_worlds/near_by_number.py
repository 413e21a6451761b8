"""Neighbours by a component that is no place."""

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
    for other in world.near(Ball, ball.position, 1.0, by="x"):  # WRONG: wrong type: neighbours are searched by a vec2 or a vec3, but 'x' of Ball is float
        ball.hits += 1


wl.register("Wrong-v0", world=Table, entities={Ball: 4}, step=[rule])
