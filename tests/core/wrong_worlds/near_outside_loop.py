"""A query for neighbours that is no loop."""

import worldloom as wl


class Ball(wl.Entity):
    position: wl.vec2
    x: float
    spots: wl.Array(wl.vec2, 4)
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    found = world.near(Ball, ball.position, 1.0)  # WRONG: world.near\(...\) can only be looped over
    ball.hits = 1


wl.register("Wrong-v0", world=Table, entities={Ball: 4}, step=[rule])
