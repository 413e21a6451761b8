"""A vector as a condition."""

import worldloom as wl


class Ball(wl.Entity):
    place: wl.vec2


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    if ball.place:  # WRONG: vec2 is not a condition
        ball.place = wl.vec2(0.0, 0.0)
