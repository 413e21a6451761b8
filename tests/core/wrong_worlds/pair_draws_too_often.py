"""More pairs than there are streams of random numbers."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Wall(wl.Entity):
    x: float


class Table(wl.World):
    total: float


@wl.system
def rule(ball: Ball, wall: Wall, world: Table):  # WRONG: draws random numbers for up to 1,200,000 pairs of Ball and Wall
    ball.x += world.random()


wl.register("Wrong-v0", world=Table, entities={Ball: 1200, Wall: 1000}, step=[rule])
