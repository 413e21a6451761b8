"""Components of a new entity without their names."""

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
    world.spawn(Bullet, wl.vec2(1.0, 0.0))  # WRONG: world.spawn takes one kind of entity

wl.register("Wrong-v0", world=Space, entities={Ship: 2, Bullet: wl.UpTo(64)}, step=[act])
