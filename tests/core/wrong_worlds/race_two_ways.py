"""Two accumulations whose order matters."""

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
        other.hits += 1
        other.hits = max(other.hits, 5)  # WRONG: race: 'hits' is accumulated with two operators whose order matters
