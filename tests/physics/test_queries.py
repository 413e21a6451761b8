"""Queries of a world: nearest hits, filters, lines of sight and overlaps, in systems of any kind of entity."""

import math

import numpy as np
import pytest
import torch
from physics_scenes import FLOOR, SOLID, BodySpec, Scene, Thing, connect, place

import worldloom as wl
from worldloom import physics

FAN = 8


class Eye(wl.Entity):
    origin: wl.vec3
    direction: wl.vec3
    length: float = 20.0
    ignore: int = -1
    groups: int = -1
    target: int
    row: int
    distance: float
    normal: wl.vec3
    sees: bool
    ranges: wl.Array(float, FAN)
    radius: float = 1.0
    first: int
    number: int


@wl.system(threads="auto")
def look(eye: Eye, world: Scene):
    eye.row, eye.distance, eye.normal = SOLID.ray(world, eye.origin, eye.direction, eye.length, eye.ignore, eye.groups)
    eye.sees = SOLID.sees(world, eye.origin, eye.direction, eye.length, eye.target, eye.ignore, eye.groups)
    for i in wl.share(FAN):
        way = physics.fan_direction(eye.direction, wl.vec3(0.0, 0.0, 1.0), i, FAN, 2.0 * math.pi)
        row, distance, _normal = SOLID.ray(world, eye.origin, way, eye.length, eye.ignore, eye.groups)
        eye.ranges[i] = distance if row >= 0 else 0.0
    size = wl.vec3(eye.radius, 0.0, 0.0)
    eye.first, eye.number = SOLID.overlap(
        world, physics.SPHERE, size, eye.origin, wl.quat_identity(), eye.ignore, eye.groups
    )


EYES = wl.register(
    "PhysicsEyes-v0",
    world=Scene,
    entities={Thing: wl.UpTo(8), Eye: 2, SOLID.Joint: wl.UpTo(1)},
    reset=[place, connect],
    step=[look],
)
WALL = BodySpec(physics.BOX, (0.1, 4.0, 4.0), (5.0, 0.0, 0.0), motion=physics.STATIC)
BALL = BodySpec(physics.SPHERE, (0.5, 0.0, 0.0), (3.0, 0.0, 0.0))


def scene(bodies: list[BodySpec], device: str = "python", **eye) -> wl.Simulation:
    sim = wl.Simulation("PhysicsEyes-v0", 1, device, seed=0)
    kinds, values = np.zeros((12, 3), np.int32), np.zeros((12, 20), np.float32)
    kinds[: len(bodies)] = [body.kinds() for body in bodies]
    values[: len(bodies)] = [body.numbers() for body in bodies]
    sim.set_config("bodies", len(bodies))
    sim.set_config("kinds", kinds)
    sim.set_config("values", values)
    sim.reset()
    for name, value in {"direction": (1.0, 0.0, 0.0), **eye}.items():
        sim[Eye][name].torch()[0, 0] = torch.as_tensor(value)
    return sim


def result(sim: wl.Simulation, *names: str) -> list:
    sim.step()
    assert sim.errors() == []
    return [sim[Eye][name].numpy()[0, 0] for name in names]


def test_a_ray_hits_the_nearest_body():
    row, distance, normal = result(scene([WALL, BALL]), "row", "distance", "normal")
    assert (row, distance) == (1, pytest.approx(2.5))
    assert normal == pytest.approx([-1.0, 0.0, 0.0])


def test_a_ray_leaves_out_a_row_and_groups():
    assert result(scene([WALL, BALL], ignore=1), "row", "distance") == [0, pytest.approx(4.9)]
    sim = scene([WALL, BALL], groups=2)
    sim[Thing].collision_group.numpy()[0, 0] = 2
    assert result(sim, "row") == [0]


def test_a_miss_has_no_row_and_the_length_of_the_ray():
    assert result(scene([WALL, BALL], length=2.0), "row", "distance") == [-1, 2.0]
    assert result(scene([WALL], direction=(-1.0, 0.0, 0.0)), "row") == [-1]


def test_equal_distances_go_to_the_lower_row():
    assert result(scene([BALL, BALL], target=1), "row", "sees") == [0, False]
    assert result(scene([BALL, BALL], target=0), "row", "sees") == [0, True]


def test_a_body_is_seen_if_nothing_is_in_front_of_it():
    assert result(scene([WALL, BALL], target=0), "sees") == [False]
    assert result(scene([WALL, BALL], target=1), "sees") == [True]
    assert result(scene([WALL, BALL], target=0, ignore=1), "sees") == [True]
    assert result(scene([WALL, BALL], target=1, length=2.0), "sees") == [False]


def test_a_fan_divides_the_circle_counter_clockwise():
    behind = BodySpec(physics.SPHERE, (0.5, 0.0, 0.0), (0.0, 4.0, 0.0))
    (ranges,) = result(scene([BALL, behind]), "ranges")
    assert ranges == pytest.approx([2.5, 0.0, 3.5, 0.0, 0.0, 0.0, 0.0, 0.0])


def test_bodies_within_a_sphere_are_counted_and_the_lowest_row_is_named():
    bodies = [FLOOR, WALL, BALL, BALL.at(0.0, 1.0, 0.0), BALL.at(0.0, 0.0, 1.0)]
    sim = scene(bodies, origin=(0.0, 0.0, 0.7))
    assert result(sim, "first", "number") == [0, 3]
    assert result(scene(bodies, origin=(0.0, 0.0, 0.7), ignore=0), "first", "number") == [3, 2]
    assert result(scene(bodies, origin=(0.0, 0.0, 0.7), groups=2), "first", "number") == [-1, 0]
    assert result(scene(bodies, origin=(0.0, 0.0, 0.7), radius=5.0), "number") == [5]


def test_queries_agree_on_both_devices():
    generator = np.random.default_rng(3)
    bodies = [
        BodySpec(shape, tuple(generator.uniform(0.2, 0.8, 3)), tuple(generator.uniform(-2, 2, 3)), hull=3)
        for shape in range(1, 6)
    ]
    names = ("row", "distance", "normal", "sees", "ranges", "first", "number")
    results = [result(scene(bodies, device, origin=(-0.4, 0.2, 0.1)), *names) for device in ("python", "cpu")]
    for interpreted, compiled in zip(*results, strict=True):
        assert np.asarray(interpreted).tobytes() == np.asarray(compiled).tobytes()


def test_the_direction_of_a_ray_is_a_unit_vector():
    sim = scene([WALL], direction=(2.0, 0.0, 0.0))
    sim.step()
    assert "the direction of a ray is not a unit vector" in str(sim.errors()[0])
    unseen = scene([BALL, WALL], target=0, groups=2)
    assert not result(unseen, "sees")[0], "the mask leaves the target out"
    assert not result(scene([BALL, WALL], target=0, ignore=0), "sees")[0]
