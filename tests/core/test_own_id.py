"""``world.at(Kind, entity.id)`` of the entity of a system itself: no check, since the entity is there."""

from __future__ import annotations

import pytest

import worldloom as wl
from worldloom.core.codegen.program import generate
from worldloom.core.frontend.system import System
from worldloom.core.tools.compare import compare

pytestmark = pytest.mark.usefixtures("quick_compilation")


class Ball(wl.Entity):
    mass: float
    bounces: int


class Box(wl.Entity):
    mass: float


class Yard(wl.World):
    lost: int


@wl.system
def throw(world: Yard):
    for i in range(world.integer(5)):
        world.spawn(Ball, mass=float(i), bounces=i)


@wl.system(disjoint=True)
def bounce(ball: Ball, world: Yard):
    itself = world.at(Ball, ball.id)
    itself.mass = 2.0 * itself.mass + 1.0
    if ball.id > 0:
        itself.bounces += 1


@wl.system
def drop(ball: Ball, world: Yard):
    if ball.bounces > 4:
        ball.despawn()


@wl.system
def look_elsewhere(ball: Ball, world: Yard):
    """The id of a ball is no id of a box: the check stays."""
    world.lost += int(world.at(Box, ball.id).mass)


def yard(*step: System) -> wl.Definition:
    return wl.Definition("Yard-test", Yard, {Ball: wl.UpTo(6), Box: 2}, reset=(throw,), step=step, max_steps=5)


def text(*step: System) -> str:
    return generate(wl.Simulation(yard(*step), 1, "python").schedule, True, True).text


def test_the_entity_itself_is_found_without_a_check() -> None:
    assert "checked_slot" not in text(bounce)
    assert "checked_slot" in text(look_elsewhere)


def test_rows_that_move_are_followed() -> None:
    assert compare(yard(bounce, drop, bounce), num_worlds=5, steps=12) is None
