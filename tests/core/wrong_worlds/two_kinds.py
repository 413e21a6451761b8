"""A system over two kinds."""

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
def rule(ball: Ball, wall: Wall):  # WRONG: a system runs over one kind of entity
    ball.x = wall.x
