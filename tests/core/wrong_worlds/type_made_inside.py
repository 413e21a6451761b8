"""A vector type that is made where it is used."""

import worldloom as wl


class Ball(wl.Entity):
    x: float


@wl.system
def rule(ball: Ball):
    numbers = wl.vec(6)(ball.x, 0.0, 0.0, 0.0, 0.0, 0.0)  # WRONG: the result of 'wl.vec\(6\)' is called
    ball.x = numbers[0]
