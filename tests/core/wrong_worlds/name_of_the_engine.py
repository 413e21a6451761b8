"""A parameter whose name the generated code needs."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(wp: Ball):  # WRONG: 'wp' is a name reserved by the engine
    wp.x = 1.0
