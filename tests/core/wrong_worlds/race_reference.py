"""A reference in another row."""

import worldloom as wl


class Ball(wl.Entity):
    mate: wl.Ref("Ball")


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    for other in world.all(Ball):
        other.mate = ball.ref  # WRONG: race: several entities may store 'mate' of the same Ball
