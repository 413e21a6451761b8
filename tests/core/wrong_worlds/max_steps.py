"""Episodes of a negative length."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


wl.register("Wrong-v0", world=Table, entities={Ball: 1}, max_steps=-1)  # WRONG: max_steps cannot be -1
