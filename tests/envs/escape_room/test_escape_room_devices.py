"""Escape Room on several devices and in batches of several sizes; its picture."""

from __future__ import annotations

import numpy as np
from thorough import THOROUGH

import worldloom as wl
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.tools.compare import Comparison, first_difference
from worldloom.envs.escape_room.entities import AGENT, CUBE, DOOR, LIDAR_TYPE, RANDOM_ROOM, STEPS_LEFT, WALL

STEPS = 40 if THOROUGH else 6


def test_plain_python_and_compiled_code_agree() -> None:
    comparison = Comparison("EscapeRoom-v0", ["python", "cpu"], 2, seed=11)
    for sim in comparison.simulations:
        sim.set_config("third_room", RANDOM_ROOM)
        sim.set_config("max_steps", STEPS // 2)
    try:
        assert comparison.run(STEPS) is None
        assert [sim.errors() for sim in comparison.simulations] == [[], []]
    finally:
        for sim in comparison.simulations:
            sim.close()


def test_both_ways_of_the_lidar_give_the_same_bits() -> None:
    """In all columns: a simulation on a GPU has the state of one on the CPU."""
    ways = [{"lidar": way} for way in ("boxes", "spheres")]
    one, other = (wl.Simulation("EscapeRoom-v0", 12, "cpu", seed=3, alternatives=way) for way in ways)
    rng, types = np.random.default_rng(2), set[float]()
    for sim in (one, other):
        sim.set_config("second_room", RANDOM_ROOM)
        sim.set_config("max_steps", 60)
    for step in range(120):
        assert first_difference(one, other, step) is None
        types |= set((6.0 * one["Agent"].sight.numpy()[:, :, LIDAR_TYPE:STEPS_LEFT]).round().ravel().tolist())
        actions = random_actions(one, rng)
        for sim in (one, other):
            sim.step(actions)
    assert {CUBE, WALL, AGENT, DOOR} <= types


def test_worlds_do_not_depend_on_the_size_of_the_batch() -> None:
    one, many = (wl.Simulation("EscapeRoom-v0", count, "cpu", seed=4) for count in (3, 24))
    rng = np.random.default_rng(1)
    for sim in (one, many):
        sim.set_config("max_steps", 30)
    for _ in range(50):
        actions = random_actions(many, rng)
        many.step(actions)
        one.step({name: action[:3] for name, action in actions.items()})
    assert (one["Agent"].sight.numpy() == many["Agent"].sight.numpy()[:3]).all()
    assert (one["Body"].position.numpy() == many["Body"].position.numpy()[:3]).all()


def test_a_picture_shows_the_world() -> None:
    draw = wl.definition("EscapeRoom-v0").render
    assert draw is not None
    sim = wl.Simulation("EscapeRoom-v0", 2, "cpu", seed=2)
    first = draw(sim, 1)
    assert first.shape == (370, 720, 3) and first.dtype == np.uint8
    sim["Button"].is_pressed.numpy()[1, 0] = True
    pressed = draw(sim, 1)
    assert (pressed != first).any()
    sim["Room"].is_open.numpy()[1] = True
    assert (draw(sim, 1) != pressed).any()
    moved = wl.Simulation("EscapeRoom-v0", 2, "cpu", seed=2)
    moved.step(np.full((2, 2, 4), (3, 0, 2, 0), np.int32))
    assert (draw(moved, 1) != first).any() and (draw(moved, 0) != draw(moved, 1)).any()
