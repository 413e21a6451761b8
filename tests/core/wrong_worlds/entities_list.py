"""Kinds without their numbers."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


wl.register("Wrong-v0", world=Table, entities=[Ball])  # WRONG: 'entities' does not say how many there are of each kind
