"""A vector and a number compared."""

import worldloom as wl


class Ball(wl.Entity):
    place: wl.vec2


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    if ball.place > 1.0:  # WRONG: wrong type: vec2 and float cannot be compared
        ball.place = wl.vec2(0.0, 0.0)
