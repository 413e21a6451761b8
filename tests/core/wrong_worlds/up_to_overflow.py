"""A rule for overflow that there is not."""

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


wl.register("Wrong-v0", world=Space, entities={Ship: 2, Bullet: wl.UpTo(64, overflow="no")})  # WRONG: has overflow='no', which is none of error, reset, drop
