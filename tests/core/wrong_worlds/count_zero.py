"""No entities at all."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


wl.register("Wrong-v0", world=Table, entities={Ball: 0})  # WRONG: there cannot be 0 entities of kind 'Ball'
