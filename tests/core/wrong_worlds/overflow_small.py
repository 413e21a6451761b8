"""A number that does not fit into 8 bits."""

import worldloom as wl


class Ball(wl.Entity):
    small: wl.uint8


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    ball.small = 300  # WRONG: overflow: 300 does not fit into uint8
