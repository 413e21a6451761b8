"""An array of configuration that a system changes."""

import numpy as np

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    widths: wl.Config = np.ones(3, np.float32)


@wl.system
def rule(ball: Ball, world: Table):
    world.widths[0] += 3.0  # WRONG: configuration 'widths' cannot be changed
