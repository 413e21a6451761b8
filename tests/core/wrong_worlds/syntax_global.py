"""A global variable."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    global SCORE  # WRONG: 'global SCORE' is not supported
    SCORE = 1
