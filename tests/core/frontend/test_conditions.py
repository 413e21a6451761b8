"""Conditions whose variables change inside the branch that they guard."""

import numpy as np
import pytest
from agreement import agree

import worldloom as wl

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


RULES = {
    rule.name: rule
    for rule in (over_all, over_range, over_while, over_near, over_nearest, in_elif, of_local, of_helper)
}


def run(rule: object) -> list[dict[str, np.ndarray]]:
    return agree(wl.Definition("Conditions-v0", world=Field, entities={Ball: 1, Wall: 2}, step=[rule]), steps=1)


@pytest.mark.parametrize("name", RULES)
def test_one_branch_runs_where_it_changes_its_own_condition(name: str):
    after = run(RULES[name])[-1]
    assert after["Ball.score"].ravel().tolist() == [7] * 3
    assert after["Ball.waited"].ravel().tolist() == [0] * 3
    assert not after["Ball.flying"].any()


def test_a_field_of_the_world():
    after = run(of_world)[-1]
    assert after["World.seen"].ravel().tolist() == [7] * 3


def test_a_choice_decided_beforehand_makes_a_copy():
    after = run(of_constant_choice)[-1]
    assert after["Ball.waited"].ravel().tolist() == [0] * 3
    assert after["Ball.score"].ravel().tolist() == [4] * 3
