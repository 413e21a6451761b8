"""Many entities would store into one world."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    world.total = ball.x  # WRONG: race: every entity would store its own value into 'world.total'
