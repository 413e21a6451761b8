"""A match statement."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    match ball.hits:  # WRONG: 'match ball.hits:' is not supported
        case 0:
            ball.x = 1.0
