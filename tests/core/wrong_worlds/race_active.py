"""It asks who is left while everyone may leave."""

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
        if other.active:  # WRONG: race: it reads 'active' of another Ball while every Ball writes its own 'active'
            ball.hits += 1
    ball.terminate()
