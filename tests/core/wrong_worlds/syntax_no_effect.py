"""A line that does nothing."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.x + 1.0  # WRONG: 'ball.x \+ 1.0' has no effect
