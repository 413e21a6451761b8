"""The fix of a definition error is the one that helps."""

import numpy as np
import pytest

import worldloom as wl

TABLE = [1.0, 2.0, 3.0]
PAIR = (1.0, 2.0)
ARRAY = np.array([1.0, 2.0])
WIDE = 1099511628211
FIXED = wl.uint64(1099511628211)


class Ball(wl.Entity):
    place: wl.vec2
    speed: float
    hash: wl.uint64


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


def with_wide_constant(ball: Ball, world: Room):
    ball.hash = ball.hash * wl.uint64(14695981039346656037)


def with_wide_literal(ball: Ball, world: Room):
    ball.hash = ball.hash * 1099511628211


def with_named_literal(ball: Ball, world: Room):
    ball.hash ^= WIDE


def without_other_side(ball: Ball, world: Room):
    ball.hash = 1099511628211


def with_wide_float(ball: Ball, world: Room):
    ball.speed = ball.speed * 5000000000


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
        (with_wide_constant, "such as NUMBER = wl.uint64(14695981039346656037), and use it"),
        (with_wide_literal, "such as NUMBER = wl.uint64(1099511628211), and use it"),
        (with_named_literal, "such as NUMBER = wl.uint64(1099511628211), and use it"),
        (without_other_side, "NUMBER = wl.int64(1099511628211), and use it; NUMBER = wl.uint64(1099511628211)"),
        (with_wide_float, "write it as a real number, with a decimal point"),
    ],
)
def test_hints(rule, hint):
    with pytest.raises(wl.DefinitionError) as raised:
        wl.system(rule)
    assert hint in raised.value.fix
    assert "transform" not in raised.value.fix


def test_the_constant_that_the_fix_names_works():
    @wl.system
    def mix(ball: Ball, world: Room):
        ball.hash = (ball.hash + 1) * FIXED

    for device in ("python", "cpu"):
        sim = wl.Simulation(wl.Definition("Hash-v0", world=Room, entities={Ball: 1}, step=[mix]), 1, device)
        sim.step()
        assert int(sim[Ball].hash.numpy().item()) == WIDE
