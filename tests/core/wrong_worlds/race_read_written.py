"""It reads in other rows what every row writes."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    for other in world.all(Ball):
        ball.x += other.x  # WRONG: race: it reads 'x' of another Ball while every Ball writes its own 'x'
