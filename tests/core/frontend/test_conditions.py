"""Conditions whose variables change inside the branch that they guard."""

import numpy as np
import pytest
from agreement import agree

import worldloom as wl

pytestmark = pytest.mark.usefixtures("quick_compilation")

ON = True


class Wall(wl.Entity):
    place: float
    at: wl.vec2


class Ball(wl.Entity):
    flying: bool = True
    at: wl.vec2
    score: int
    waited: int
    done: bool
    rule: int  # how many rules have run
    scores: wl.Array(int, 9)  # after each rule
    waits: wl.Array(int, 9)
    flew: wl.Array(bool, 9)


class Field(wl.World):
    lamp: bool = True
    seen: int


@wl.system
def over_all(ball: Ball, world: Field):
    if ball.flying:
        ball.score = 7
        for wall in world.all(Wall):
            if wall.place >= 0.0:
                ball.flying = False
    else:
        ball.waited += 1


@wl.system
def over_range(ball: Ball):
    if ball.flying:
        ball.score = 7
        for _ in range(3):
            ball.flying = False
    else:
        ball.waited += 1


@wl.system
def over_while(ball: Ball):
    if ball.flying:
        ball.score = 7
        while ball.flying:
            ball.flying = False
    else:
        ball.waited += 1


@wl.system
def over_near(ball: Ball, world: Field):
    if ball.flying:
        ball.score = 7
        for _wall in world.near(Wall, ball.at, 1.0, by="at"):
            ball.flying = False
    else:
        ball.waited += 1


@wl.system
def over_nearest(ball: Ball, world: Field):
    if ball.flying:
        ball.score = 7
        for _wall in world.nearest(Wall, ball.at, 1, by="at"):
            ball.flying = False
    else:
        ball.waited += 1


@wl.system
def in_elif(ball: Ball):
    if ball.done:
        ball.waited += 2
    elif ball.flying:
        ball.score = 7
        for _ in range(3):
            ball.flying = False
    else:
        ball.waited += 1


@wl.system
def of_local(ball: Ball):
    up = ball.flying
    if up:
        ball.score = 7
        for _ in range(3):
            up = False
    else:
        ball.waited += 1
    ball.flying = up


@wl.function
def lands(up: bool) -> int:
    found = 0
    if up:
        found = 7
        for _ in range(3):
            up = False
    else:
        found = -1
    return found


@wl.system
def of_helper(ball: Ball):
    ball.score = lands(ball.flying)
    ball.flying = False


@wl.system
def of_world(world: Field):
    if world.lamp:
        world.seen = 7
        for _ in range(2):
            world.lamp = False
    else:
        world.seen = -1


@wl.system
def of_constant_choice(ball: Ball):
    kept = ball.score
    moved = kept if ON else 0
    for _ in range(4):
        moved += 1
    ball.waited = kept
    ball.score = moved


@wl.system
def note(ball: Ball):
    """Keeps what a rule left, and brings the ball back to where it was before."""
    ball.scores[ball.rule] = ball.score
    ball.waits[ball.rule] = ball.waited
    ball.flew[ball.rule] = ball.flying
    ball.rule = (ball.rule + 1) % 9
    ball.score = 0
    ball.waited = 0
    ball.flying = True


RULES = (over_all, over_range, over_while, over_near, over_nearest, in_elif, of_local, of_helper, of_constant_choice)
CONDITIONS = wl.Definition(
    "Conditions-v0",
    world=Field,
    entities={Ball: 1, Wall: 2},
    step=[*(system for rule in RULES for system in (rule, note)), of_world],
)
"""Every rule in one world, which is compiled once."""


@pytest.fixture(scope="module")
def after() -> dict[str, np.ndarray]:
    """All columns after one step."""
    return agree(CONDITIONS, steps=1)[-1]


@pytest.mark.parametrize("number", range(len(RULES) - 1), ids=lambda number: RULES[number].name)
def test_one_branch_runs_where_it_changes_its_own_condition(after: dict[str, np.ndarray], number: int):
    assert after["Ball.scores"][:, 0, number].tolist() == [7] * 3
    assert after["Ball.waits"][:, 0, number].tolist() == [0] * 3
    assert not after["Ball.flew"][:, 0, number].any()


def test_a_field_of_the_world(after: dict[str, np.ndarray]):
    assert after["World.seen"].ravel().tolist() == [7] * 3


def test_a_choice_decided_beforehand_makes_a_copy(after: dict[str, np.ndarray]):
    assert after["Ball.waits"][:, 0, -1].tolist() == [0] * 3
    assert after["Ball.scores"][:, 0, -1].tolist() == [4] * 3
