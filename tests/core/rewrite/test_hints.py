"""What a definition error suggests is what was meant."""

import numpy as np
import pytest

import worldloom as wl

TABLE = [1.0, 2.0, 3.0]
PAIR = (1.0, 2.0)
ARRAY = np.array([1.0, 2.0])


class Ball(wl.Entity):
    place: wl.vec2
    speed: float


class Room(wl.World):
    pass


def by_norm(ball: Ball, world: Room):
    ball.speed = wl.norm(ball.place)


def by_wl_random(ball: Ball, world: Room):
    ball.speed = wl.random()


def by_wl_uniform(ball: Ball, world: Room):
    ball.speed = wl.uniform(0.0, 1.0)


def by_uniform(ball: Ball, world: Room):
    ball.speed = world.uniform(0.0, 1.0)


def by_randint(ball: Ball, world: Room):
    ball.speed = float(world.randint(3))


def by_sum(ball: Ball, world: Room):
    ball.speed = sum([ball.place.x, ball.place.y])


def by_list(ball: Ball, world: Room):
    ball.speed = TABLE[1]


def by_tuple(ball: Ball, world: Room):
    ball.speed = PAIR[ball.id]


def by_array(ball: Ball, world: Room):
    ball.speed = ARRAY[ball.id]


def by_called_list(ball: Ball, world: Room):
    ball.speed = 1.0 + TABLE(1)


def by_arctan2(ball: Ball, world: Room):
    ball.speed = wl.arctan2(ball.place.y, ball.place.x)


def by_nonsense(ball: Ball, world: Room):
    ball.speed = wl.frobnicate(1.0)


@pytest.mark.parametrize(
    ("rule", "hint"),
    [
        (by_norm, "did you mean 'wl.length'?"),
        (by_wl_random, "random numbers belong to the world: write world.random()"),
        (by_wl_uniform, "random numbers belong to the world: write world.random(low, high)"),
        (by_uniform, "did you mean world.random(low, high)?"),
        (by_randint, "did you mean world.integer(n)?"),
        (by_sum, "write a loop"),
        (by_list, "TABLE: wl.Config = np.array(...)"),
        (by_tuple, "PAIR: wl.Config = np.array(...)"),
        (by_array, "ARRAY: wl.Config = np.array(...)"),
        (by_called_list, "use worldloom's mathematics"),
        (by_arctan2, "did you mean 'wl.atan2'?"),
        (by_nonsense, "correct the name"),
    ],
)
def test_hints(rule, hint):
    with pytest.raises(wl.DefinitionError) as raised:
        wl.system(rule)
    assert hint in raised.value.fix
    assert "transform" not in raised.value.fix
