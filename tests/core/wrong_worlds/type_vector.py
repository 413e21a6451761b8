"""Vectors of two lengths."""

import worldloom as wl


class Ball(wl.Entity):
    place: wl.vec2


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.place += wl.vec3(1.0, 0.0, 0.0)  # WRONG: wrong type: no operator '\+' for vec2 and vec3
