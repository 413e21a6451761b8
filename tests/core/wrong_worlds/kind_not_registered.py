"""A loop over a kind that the world does not have."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


class Wall(wl.Entity):
    x: float


@wl.system
def rule(ball: Ball, world: Table):
    for wall in world.all(Wall):  # WRONG: it looks for entities of kind 'Wall', which 'Wrong-v0' does not have
        ball.x += wall.x


wl.register("Wrong-v0", world=Table, entities={Ball: 1}, step=[rule])
