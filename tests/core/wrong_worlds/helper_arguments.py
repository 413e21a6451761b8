"""A helper called with too few arguments."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.function
def add(a: int, b: int):
    return a + b


@wl.system
def rule(ball: Ball, world: Table):
    ball.hits = add(ball.hits)  # WRONG: 'add' takes 2 arguments, not 1
