"""Contacts that systems read: which bodies, where, how hard, and whether they just met."""

import math

import pytest

import worldloom as wl
from worldloom import physics


class Ball(physics.Body):
    hits: int
    hardest: float
    place: wl.vec3
    facing: wl.vec3
    partner: int = -1


class Court(physics.World):
    pass


SOLID = physics.systems(Court, Ball)


@wl.system
def build(world: Court):
    world.spawn(Ball, shape=physics.PLANE, motion=physics.STATIC)
    world.spawn(
        Ball,
        shape=physics.SPHERE,
        size=wl.vec3(0.2, 0.0, 0.0),
        position=wl.vec3(1.5, 2.0, 0.7),
        restitution=0.8,
        mass=3.0,
    )


@wl.system
def feel(world: Court):
    for contact in world.all(SOLID.Contact):
        if contact.impulse > 0.0:
            ball = contact.b.get()
            ball.hits += 1 if contact.last_impulse == 0.0 else 0
            ball.partner = contact.a.get().id
            if contact.impulse > ball.hardest:
                ball.hardest = contact.impulse
                ball.place = SOLID.contact_point(world, contact)
                ball.facing = contact.normal


wl.register(
    "PhysicsCourt-v0",
    world=Court,
    entities={Ball: wl.UpTo(2), **SOLID.entities(pairs=1, contacts=1)},
    reset=[build],
    step=[*SOLID.step, feel],
)


@pytest.fixture(scope="module")
def ball():
    sim = wl.Simulation("PhysicsCourt-v0", 1, "python", seed=0)
    for _ in range(30):
        sim.step()
    assert sim.errors() == []
    return {name: sim[Ball][name].numpy()[0, 1] for name in ("hits", "hardest", "place", "facing", "partner")}


def test_a_bouncing_ball_hits_the_floor_twice_within_a_second(ball):
    assert ball["hits"] == 2  # at 0.32 s, and after a bounce with 0.8 of its speed
    assert ball["partner"] == 0


def test_the_impulse_is_the_change_of_momentum(ball):
    fall = math.sqrt(2.0 * 9.8 * 0.5)  # m/s, after 0.5 m
    assert ball["hardest"] == pytest.approx(3.0 * fall * 1.8, rel=1e-3)


def test_the_contact_is_below_the_ball(ball):
    assert ball["place"] == pytest.approx([1.5, 2.0, 0.0], abs=0.12)  # the ball has risen again within the step
    assert ball["facing"] == pytest.approx([0.0, 0.0, 1.0])
