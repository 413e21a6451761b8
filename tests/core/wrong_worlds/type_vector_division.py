"""Vectors of whole numbers divided."""

import worldloom as wl


class Ball(wl.Entity):
    place: wl.vec2i


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.place = ball.place / 2  # WRONG: vectors of integers cannot be divided
