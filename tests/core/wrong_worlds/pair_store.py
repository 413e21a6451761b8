"""A plain store into one entity of a pair."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Wall(wl.Entity):
    x: float


class Table(wl.World):
    total: float


@wl.system
def rule(ball: Ball, wall: Wall):
    ball.x = wall.x  # WRONG: race: several entities may store 'x' of the same Ball
