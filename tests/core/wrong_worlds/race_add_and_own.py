"""It adds to other rows what it reads in its own."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.x = float(ball.hits)
    for other in world.all(Ball):
        other.hits += 1  # WRONG: race: it adds to 'hits' of another Ball while every Ball uses its own 'hits'
