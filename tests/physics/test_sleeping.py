"""Bodies at rest fall asleep, and wake when something changes."""

import numpy as np
import pytest
from physics_scenes import FLOOR, SOLID, BodySpec, Thing, simulate

from worldloom import physics

BOX = BodySpec(physics.BOX, position=(0.0, 0.0, 0.5))
STACK = [FLOOR, BOX, BOX.at(0.0, 0.0, 1.5)]


def steps(sim, count):
    for _ in range(count):
        sim.step()
    assert sim.errors() == []
    return sim[Thing]


def asleep(sim):
    return ~sim[Thing].awake.numpy()[0, 1:3]


@pytest.fixture
def sleeping():
    sim = simulate(STACK)
    steps(sim, 60)
    assert asleep(sim).all()
    return sim


def test_a_stack_falls_asleep_and_keeps_its_place_and_contacts(sleeping):
    before = sleeping[Thing].position.numpy().copy()
    impulse = sleeping[SOLID.Contact].impulse.numpy()[0, :2].copy()
    bodies = steps(sleeping, 30)
    assert np.array_equal(bodies.position.numpy(), before)
    assert np.abs(bodies.velocity.numpy()).max() == 0.0
    assert sleeping[physics.Pair].counts.numpy().tolist() == [0]  # neither detected nor solved
    assert sleeping[SOLID.Contact].counts.numpy().tolist() == [2]
    assert np.array_equal(sleeping[SOLID.Contact].impulse.numpy()[0, :2], impulse)
    assert sorted(impulse) == pytest.approx([1000.0 * 9.8 / 30.0, 2000.0 * 9.8 / 30.0], rel=1e-2)


def test_bodies_in_contact_wake_together_and_fall_asleep_again(sleeping):
    sleeping[Thing].velocity.numpy()[0, 2] = (0.5, 0.0, 0.0)
    steps(sleeping, 1)
    assert not asleep(sleeping).any()
    steps(sleeping, 60)
    assert asleep(sleeping).all()


def test_a_force_wakes_a_body(sleeping):
    sleeping[Thing].force.numpy()[0, 2] = (20_000.0, 0.0, 0.0)
    assert steps(sleeping, 1).velocity.numpy()[0, 2, 0] > 0.1


def test_a_body_whose_support_is_moved_falls(sleeping):
    sleeping[Thing].position.numpy()[0, 1] = (5.0, 0.0, 0.5)
    bodies = steps(sleeping, 10)
    assert bodies.position.numpy()[0, 2, 2] < 1.4


def test_a_body_whose_support_is_unlocked_rests_on_it():
    sim = simulate([FLOOR, BOX.at(0.0, 0.0, 2.5), BOX.at(0.0, 0.0, 3.5)])
    sim[Thing].motion.numpy()[0, 1] = physics.STATIC
    steps(sim, 40)
    assert asleep(sim).all()
    sim[Thing].motion.numpy()[0, 1] = physics.DYNAMIC
    bodies = steps(sim, 60)
    assert bodies.position.numpy()[0, 1:3, 2] == pytest.approx([0.5, 1.5], abs=0.02)


def test_a_body_that_is_hit_wakes():
    ball = BodySpec(physics.SPHERE, (0.3, 0.0, 0.0), (-8.0, 0.0, 0.3), velocity=(6.0, 0.0, 0.0), friction=0.0)
    sim = simulate([FLOOR, BOX, ball])
    steps(sim, 30)
    assert asleep(sim).tolist() == [True, False]
    assert steps(sim, 10).position.numpy()[0, 1, 0] > 0.002


def test_bodies_that_drift_without_contact_never_sleep():
    sim = simulate([BodySpec(velocity=(0.005, 0.0, 0.0))], gravity=np.zeros(3, np.float32))
    assert steps(sim, 60).position.numpy()[0, 0, 0] == pytest.approx(0.01, rel=1e-3)


def test_sleep_speed_zero_keeps_bodies_awake():
    sim = simulate(STACK, sleep_speed=0.0)
    steps(sim, 60)
    assert not asleep(sim).any()


def test_a_pushed_body_that_a_system_stops_stays_awake(sleeping):
    """Games clear the velocity of bodies: one that is pushed must still find contacts in the next step."""
    pusher = 2
    for _ in range(30):
        things = sleeping[Thing]
        things.position.numpy()[0, pusher] = things.position.numpy()[0, 1] + np.array((0.0, 0.0, 1.0), np.float32)
        things.velocity.numpy()[0, pusher] = (0.1, 0.0, 0.0)
        steps(sleeping, 1)
        things.velocity.numpy()[0, 1] = 0.0
        assert not asleep(sleeping).any()
        assert things.rest.numpy()[0, 1] <= things.rest.numpy()[0, pusher]
