"""Two kinds of one name."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


First = Ball


class Ball(wl.Entity):
    y: float


wl.register("Wrong-v0", world=Table, entities={First: 1, Ball: 1})  # WRONG: two tables would be called 'Ball'
