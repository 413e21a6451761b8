"""It reads in other rows what it adds to."""

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
        other.hits += 1
        if other.hits > 3:  # WRONG: race: it reads 'hits' of another Ball and adds to it
            ball.x = 1.0
