"""A query with a keyword that does not exist."""

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
    for other in world.nearest(Ball, ball.position, 3, of="x"):  # WRONG: world.nearest takes a kind of entity, a position and a number
        ball.hits += 1


wl.register("Wrong-v0", world=Table, entities={Ball: 4}, step=[rule])
