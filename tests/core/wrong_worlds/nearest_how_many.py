"""A number of nearest that is known only at run time."""

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
    for other in world.nearest(Ball, ball.position, ball.hits):  # WRONG: the k of world.nearest is an integer literal from 1 to 64
        ball.x = other.x


wl.register("Wrong-v0", world=Table, entities={Ball: 4}, step=[rule])
