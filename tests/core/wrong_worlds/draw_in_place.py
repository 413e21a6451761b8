"""A random index that would be drawn twice."""

import worldloom as wl


class Ball(wl.Entity):
    cards: wl.Array(int, 5)


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.cards[world.integer(5)] += 1  # WRONG: a random number in the target of the assignment would be drawn twice
