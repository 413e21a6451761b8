"""An event that is made by calling its class."""

import worldloom as wl


class Ship(wl.Entity):
    fuel: float


class Hit(wl.Event):
    who: wl.Ref[Ship]


class Space(wl.World):
    shots: int


@wl.system
def act(ship: Ship, world: Space):
    Hit(who=ship.ref)  # WRONG: an entity is not created by calling its class

wl.register("Wrong-v0", world=Space, entities={Ship: 2, Hit: wl.UpTo(64)}, step=[act])
