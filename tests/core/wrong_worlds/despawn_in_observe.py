"""An entity that leaves where the world is only looked at."""

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
def act(bullet: Bullet):
    bullet.despawn()  # WRONG: it spawns or despawns entities, but it is in 'observe'

wl.register("Wrong-v0", world=Space, entities={Ship: 2, Bullet: wl.UpTo(64)}, observe=[act])
