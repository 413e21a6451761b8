"""A helper whose first parameter is no world takes no entities, and cannot spawn."""

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


@wl.function
def shoot(power: float, world: Space) -> float:  # WRONG: parameter 'world' has no component type
    return power
