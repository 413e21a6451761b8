"""One entity ends the episode of another."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    for other in world.all(Ball):
        other.terminate()  # WRONG: race: one entity cannot end the episode of another
