"""A method that is misspelt, with arguments by name."""

import worldloom as wl


class Ship(wl.Entity):
    fuel: float


class Hit(wl.Event):
    who: wl.Ref[Ship]


class Space(wl.World):
    shots: int


@wl.system
def act(ship: Ship, world: Space):
    world.spwan(Hit, who=ship.ref)  # WRONG: unknown method 'world.spwan'

wl.register("Wrong-v0", world=Space, entities={Ship: 2, Hit: wl.UpTo(64)}, step=[act])
