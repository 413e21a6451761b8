"""A component that was never declared."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    hits: int


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.speed = 1.0  # WRONG: unknown component 'speed': Ball has x, hits
