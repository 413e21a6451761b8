"""An event of which there is always the same number."""

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


class Hit(wl.Event):
    power: int


wl.register("Wrong-v0", world=Space, entities={Ship: 2, Hit: 4})  # WRONG: 'Hit' is an event, whose number varies
