"""An array of configuration whose numbers are wider than where they go."""

import numpy as np

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    widths: wl.Config = np.ones(3)


@wl.system
def rule(ball: Ball, world: Table):
    ball.x = world.widths[ball.hits]  # WRONG: wrong type: .* float64
