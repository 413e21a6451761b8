"""A helper in the schedule."""

import worldloom as wl


@wl.function
def twice(n: int):
    return 2 * n


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


wl.register("Wrong-v0", world=Table, entities={}, step=[twice])  # WRONG: 'twice' is a helper, which systems call
