"""A loop that may stand still."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    for i in range(0, 5, ball.hits):  # WRONG: the step of range\(\) is an integer literal other than 0
        ball.x += 1.0
