"""A slice of an array."""

import worldloom as wl


class Ball(wl.Entity):
    cards: wl.Array(int, 5)


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.cards[0:2] = 1  # WRONG: a slice is not supported
