"""A reference that outlives the entities it refers to."""

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


class Log(wl.World):
    last: wl.Persistent(wl.Ref(Bullet))


wl.register("Wrong-v0", world=Log, entities={Bullet: wl.UpTo(8)})  # WRONG: 'last' of Log outlives episodes, but no Bullet does
