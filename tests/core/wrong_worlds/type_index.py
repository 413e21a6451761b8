"""A real number as an index."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    cards: wl.Array(int, 5)


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.x = float(ball.cards[ball.x])  # WRONG: wrong type: an index is int, not float
