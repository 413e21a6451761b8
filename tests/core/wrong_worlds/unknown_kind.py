"""An entity that is none."""

import worldloom as wl


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


wl.register("Wrong-v0", world=Table, entities={int: 2})  # WRONG: <class 'int'> is no kind of entity
