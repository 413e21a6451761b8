"""A whole array assigned."""

import worldloom as wl


class Ball(wl.Entity):
    cards: wl.Array(int, 5)


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.cards = 3  # WRONG: wrong type: the array 'cards' cannot be assigned as a whole
