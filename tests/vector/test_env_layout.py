"""The layout of an environment: keys, shapes and spaces."""

import math

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from meadow import MEADOW, SKY

import worldloom as wl
from worldloom.vector.env_layout import make_layout


class Cat(wl.Entity):
    jump: wl.Action(wl.Box(0.0, 3.0))
    pair: wl.Action(wl.MultiDiscrete(2, 4))
    lean: wl.Action(wl.Box((0.0, -1.0), (1.0, 2.0), (2,)))
    sight: wl.Observation(3, low=(-1.0, -2.0, -math.inf), high=(1.0, 2.0, math.inf))
    age: wl.Observation(1, dtype=wl.int64)
    awake: wl.Observation(2, dtype=bool)
    image: wl.Observation(4, 5, dtype=wl.uint8, low=10, high=200)
    reward: wl.Reward


class Dog(wl.Entity):
    sight: wl.Observation(2)
    room: wl.Observation(wl.Discrete(7))
    reward: wl.Reward


class House(wl.World):
    total: wl.Reward
    hour: wl.Info(int)


HOUSE = wl.Definition("House-test", House, {Cat: 1, Dog: 3})


def test_names_that_clash_get_their_kind():
    outside = make_layout(HOUSE)
    assert [leaf.key for leaf in outside.observations] == ["Cat.sight", "age", "awake", "image", "Dog.sight", "room"]
    assert [leaf.key for leaf in outside.rewards] == ["total", "Cat.reward", "Dog.reward"]
    assert [(leaf.key, leaf.table, leaf.name) for leaf in outside.infos] == [("hour", "World", "hour")]


@pytest.mark.parametrize(
    ("key", "space"),
    [
        (
            "Cat.sight",
            spaces.Box(np.array([-1, -2, -np.inf], np.float32), np.array([1, 2, np.inf], np.float32), (3,), np.float32),
        ),
        ("age", spaces.Box(np.iinfo(np.int64).min, np.iinfo(np.int64).max, (1,), np.int64)),
        ("awake", spaces.MultiBinary((2,))),
        ("image", spaces.Box(10, 200, (4, 5), np.uint8)),
        ("Dog.sight", spaces.Box(-np.inf, np.inf, (3, 2), np.float32)),
        ("room", spaces.MultiDiscrete([7, 7, 7])),
    ],
)
def test_spaces_of_observations(key, space):
    assert make_layout(HOUSE).observation_space[key] == space


def test_spaces_of_actions():
    assert make_layout(HOUSE).action_space == spaces.Dict(
        {
            "jump": spaces.Box(0.0, 3.0, (), np.float32),
            "pair": spaces.MultiDiscrete([2, 4]),
            "lean": spaces.Box(np.array([0, -1], np.float32), np.array([1, 2], np.float32), (2,), np.float32),
        }
    )
    assert make_layout(MEADOW).action_space["thrust"] == spaces.Box(-1.0, 1.0, (2, 2), np.float32)


def test_one_component_stands_alone():
    assert make_layout(SKY).observation_space == spaces.Box(-np.inf, np.inf, (1,), np.float32)
    assert make_layout(SKY).action_space == spaces.Box(-2.0, 2.0, (1,), np.float32)
    assert make_layout(wl.definition("CartPole-v1")).action_space == spaces.Discrete(2)


@pytest.mark.parametrize("id_", ["CartPole-v1", "Pendulum-v1", "MountainCar-v0", "FrozenLake-v1", "Blackjack-v1"])
def test_action_spaces_are_gymnasiums(id_):
    assert make_layout(wl.definition(id_)).action_space == gymnasium.make(id_).action_space


class Moth(wl.Entity):
    glow: wl.Observation(2)


class Lamp(wl.Entity):
    lit: wl.Action(wl.Discrete(2))
    sight: wl.Observation(1)
    reward: wl.Reward


def test_who_is_seen_is_of_a_fixed_number():
    with pytest.raises(
        wl.InputError,
        match="the number of 'Moth' in world 'Night-test' varies, so an environment cannot show its 'glow'",
    ):
        make_layout(wl.Definition("Night-test", House, {Lamp: 1, Moth: wl.UpTo(8)}))
    with pytest.raises(
        wl.InputError,
        match="the number of 'Lamp' in world 'Street-test' varies, so an environment cannot show its 'lit'",
    ):
        make_layout(wl.Definition("Street-test", House, {Lamp: wl.UpTo(2)}))


class Fly(wl.Entity):
    speed: float


def test_populations_that_nobody_outside_sees_are_no_hindrance():
    outside = make_layout(wl.Definition("Porch-test", House, {Lamp: 1, Fly: wl.UpTo(8)}))
    assert [leaf.key for leaf in outside.observations] == ["sight"]
