"""One number of a vector that others add to."""

import worldloom as wl


class Disc(wl.Entity):
    place: wl.vec2


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(disc: Disc, world: Table):
    for other in world.all(Disc):
        other.place.x += 1.0  # WRONG: race: one component of a shared vector cannot be changed alone
