"""A system over the world that moves entities and looks for neighbours."""

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
def rule(world: Table):
    for ball in world.all(Ball):
        ball.position += wl.vec2(1.0, 0.0)
    for other in world.near(Ball, wl.vec2(0.0, 0.0), 1.0):  # WRONG: it searches Ball by 'position' and changes 'position' in the same system
        world.total += other.x


wl.register("Wrong-v0", world=Table, entities={Ball: 4}, step=[rule])
