"""A configuration that a system changes."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(world: Table):
    world.width = 3.0  # WRONG: configuration 'width' cannot be changed
