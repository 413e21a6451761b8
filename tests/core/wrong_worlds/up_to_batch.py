"""No whole number of rows for the batch."""

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


wl.register("Wrong-v0", world=Space, entities={Ship: 2, Bullet: wl.UpTo(8, batch=1.5)})  # WRONG: the number of 'Bullet' has batch=1.5
