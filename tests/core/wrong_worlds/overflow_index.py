"""An index behind the end."""

import worldloom as wl


class Ball(wl.Entity):
    cards: wl.Array(int, 5)


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.cards[5] = 1  # WRONG: overflow: index 5 is outside
