"""A field that the engine keeps."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(world: Table):
    world.step = 0  # WRONG: 'step' is written by the engine and cannot be changed
