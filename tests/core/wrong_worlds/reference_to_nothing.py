"""A reference to a kind that does not exist."""

import worldloom as wl


class Ball(wl.Entity):
    x: float
    mate: wl.Ref("Nobody")


class Table(wl.World):
    total: float
    width: wl.Config = 2.0


@wl.system
def rule(ball: Ball, world: Table):
    if ball.mate == None:  # WRONG: 'mate' refers to 'Nobody', which is not a kind of entity here
        ball.x = 1.0
