"""A random number in a condition that is asked again and again."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    while world.random() < 0.5:  # WRONG: a random number cannot be drawn in the condition of a loop
        ball.hits += 1
