"""A kind spawned that the world does not have."""

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
    world.spawn(Bullet)  # WRONG: it spawns 'Bullet', which 'Wrong-v0' does not have

wl.register("Wrong-v0", world=Space, entities={Ship: 2}, step=[act])
