"""The condition of a branch was read again behind it, when a loop inside had changed the flag."""

import worldloom as wl

RUN = {"num_worlds": 2, "steps": 2, "seed": 1, "autoreset": "disabled", "fill": None}


class Wall(wl.Entity):
    n: int


class Ball(wl.Entity):
    flying: bool = True
    score: int
    waited: int


class Field(wl.World):
    pass


@wl.system
def fly(ball: Ball, world: Field):
    if ball.flying:
        ball.score = 7
        for _wall in world.all(Wall):
            ball.flying = False
    else:
        ball.waited += 1


DEFINITION = wl.Definition(id="flag-cleared-in-loop", world=Field, entities={Wall: 1, Ball: 2}, step=(fly,))

EXPECTED = {"Ball.score": [[7, 7], [7, 7]], "Ball.waited": [[1, 1], [1, 1]]}

if __name__ == "__main__":
    from worldloom.testing.compare import main

    main(__file__)
