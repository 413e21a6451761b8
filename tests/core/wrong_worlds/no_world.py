"""A world that is none."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


wl.register("Wrong-v0", world=Ball, entities={Ball: 2})  # WRONG: 'world' is no class derived from wl.World
