"""A number that does not fit into 32 bits."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.hits = 5_000_000_000  # WRONG: overflow: 5000000000 does not fit into an int of 32 bits
