"""A variable that a loop may never have set."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    for i in range(ball.hits):
        last = i
    ball.hits = last  # WRONG: 'last' may be unassigned here
