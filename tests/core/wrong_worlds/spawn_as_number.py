"""A new entity used as a number."""

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


@wl.system
def act(ship: Ship, world: Space):
    ship.fuel = float(world.spawn(Bullet))  # WRONG: world.spawn\(...\) is a statement of its own, or the right side of '='

wl.register("Wrong-v0", world=Space, entities={Ship: 2, Bullet: wl.UpTo(64)}, step=[act])
