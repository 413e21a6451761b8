"""A query that also finds a kind whose number is fixed."""

import worldloom as wl


class Ship(wl.Entity):
    fuel: float


class Bullet(wl.Entity):
    speed: wl.vec2
    power: int = 1
    trail: wl.Array(float, 3)
    owner: wl.Ref[Ship]


class Space(wl.World):
    shots: int


class Moving(wl.Components):
    place: wl.vec2


class Rock(wl.Entity, Moving):
    pass


class Comet(wl.Entity, Moving):
    pass


@wl.system
def fade(body: wl.Has(Moving)):
    body.despawn()  # WRONG: changes how many 'Rock' there are


wl.register("Wrong-v0", world=Space, entities={Rock: 2, Comet: wl.UpTo(64)}, step=[fade])
