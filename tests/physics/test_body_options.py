"""Kinds of motion, groups, locked axes, forces, contact rows and capacities."""

from dataclasses import replace

import numpy as np
import pytest
from physics_scenes import FLOOR, SOLID, BodySpec, Thing, simulate

import worldloom as wl
from worldloom import physics

BOX = BodySpec(physics.BOX, position=(0.0, 0.0, 0.5))


def steps(sim, count):
    for _ in range(count):
        sim.step()
    return sim[Thing]


def test_a_body_is_locked_and_released_while_its_world_runs():
    sim = simulate([replace(BOX.at(0.0, 0.0, 5.0), velocity=(1.0, 0.0, 0.0), spin=(0.0, 2.0, 0.0))])
    steps(sim, 5)
    before = sim[Thing].position.numpy()[0, 0].copy()
    sim[Thing].motion.numpy()[0, 0] = physics.STATIC
    bodies = steps(sim, 10)
    assert np.array_equal(bodies.position.numpy()[0, 0], before)
    assert not bodies.velocity.numpy()[0, 0].any() and not bodies.spin.numpy()[0, 0].any()
    bodies.motion.numpy()[0, 0] = physics.DYNAMIC
    steps(sim, 10)
    assert bodies.velocity.numpy()[0, 0] == pytest.approx([0.0, 0.0, -9.8 / 3.0], rel=1e-4)
    assert bodies.position.numpy()[0, 0, 2] < before[2] - 0.4


def test_a_moving_body_becomes_kinematic_and_keeps_its_velocity():
    sim = simulate([replace(BOX, velocity=(1.0, 0.0, 0.0))], gravity=np.zeros(3, np.float32))
    sim[Thing].motion.numpy()[0, 0] = physics.KINEMATIC
    sim.set_config("gravity", np.array([0.0, 0.0, -9.8], np.float32))
    sim[Thing].force.numpy()[0, 0] = (0.0, 5000.0, 0.0)
    assert steps(sim, 30).position.numpy()[0, 0] == pytest.approx([1.0, 0.0, 0.5], abs=1e-4)


def test_a_locked_body_does_not_carry_others():
    table = BodySpec(physics.BOX, (2.0, 2.0, 0.1), velocity=(0.5, 0.0, 0.0), motion=physics.STATIC, friction=1.0)
    sim = simulate([table, BodySpec(physics.BOX, position=(0.0, 0.0, 0.6), friction=1.0)])
    assert steps(sim, 30).position.numpy()[0, 1, 0] == pytest.approx(0.0, abs=1e-4)


def test_a_kinematic_body_carries_others():
    table = BodySpec(physics.BOX, (2.0, 2.0, 0.1), velocity=(0.5, 0.0, 0.0), motion=physics.KINEMATIC, friction=1.0)
    sim = simulate([table, BodySpec(physics.BOX, position=(0.0, 0.0, 0.6), friction=1.0)])
    bodies = steps(sim, 60)
    assert bodies.position.numpy()[0, 0] == pytest.approx([1.0, 0.0, 0.0], abs=1e-4)
    assert bodies.velocity.numpy()[0, 1] == pytest.approx([0.5, 0.0, 0.0], abs=1e-3)


@pytest.mark.parametrize(("mask", "height"), [(-1, 0.5), (2, -3.0)])
def test_bodies_collide_if_groups_and_masks_match(mask, height):
    sim = simulate([FLOOR, BOX])
    sim[Thing].collision_mask.numpy()[0, 1] = mask
    bodies = steps(sim, 30)
    assert (bodies.position.numpy()[0, 1, 2] > 0.4) == (height > 0.0)


def test_locked_axes_do_not_turn():
    sim = simulate([BOX], gravity=np.zeros(3, np.float32))
    sim[Thing].angular_factor.numpy()[0, 0] = (0.0, 0.0, 1.0)
    for _ in range(10):
        sim[Thing].torque.numpy()[0, 0] = (50.0, 50.0, 50.0)
        sim.step()
    spin = sim[Thing].spin.numpy()[0, 0]
    assert np.abs(spin[:2]).max() == 0.0
    assert spin[2] == pytest.approx(50.0 * (10 / 30) / (1000.0 / 6.0), rel=1e-4)


def test_forces_act_for_one_step():
    sim = simulate([BOX], gravity=np.zeros(3, np.float32))
    sim[Thing].force.numpy()[0, 0] = (3000.0, 0.0, 0.0)
    assert steps(sim, 1).velocity.numpy()[0, 0] == pytest.approx([0.1, 0.0, 0.0], rel=1e-5)
    assert steps(sim, 1).velocity.numpy()[0, 0] == pytest.approx([0.1, 0.0, 0.0], rel=1e-5)


def test_a_contact_tells_which_bodies_touch_and_how_hard():
    sim = simulate([FLOOR, BOX])
    steps(sim, 30)
    contacts = sim[SOLID.Contact]
    assert contacts.counts.numpy().tolist() == [1]
    assert contacts.num_points.numpy()[0, 0] == 4
    assert (contacts.a_id.numpy()[0, 0], contacts.b_id.numpy()[0, 0]) == (0, 1)
    assert contacts.normal.numpy()[0, 0] == pytest.approx([0.0, 0.0, 1.0])
    assert contacts.impulse.numpy()[0, 0] == pytest.approx(1000.0 * 9.8 / 30.0, rel=1e-3)


def test_more_pairs_than_the_capacity_are_a_named_fault():
    sim = wl.Simulation("PhysicsScene-v0", 1, "python", seed=0, counts={physics.Pair: 1})
    sim.set_config("bodies", 3)
    kinds = np.zeros((1, 12, 3), np.int32)
    kinds[0, :3] = [body.kinds() for body in (FLOOR, BOX, BOX)]
    values = np.zeros((1, 12, 20), np.float32)
    values[0, :3] = [body.numbers() for body in (FLOOR, BOX, BOX.at(0.0, 0.0, 1.4))]
    sim.set_config("kinds", kinds)
    sim.set_config("values", values)
    sim.reset()
    with pytest.raises(wl.CapacityError, match="Pair"):
        sim.step()


def test_no_component_of_physics_is_hidden_by_an_attribute_of_its_table():
    sim = simulate([FLOOR, BOX])
    for kind in (Thing, SOLID.Contact, SOLID.Joint, physics.Pair):
        table = sim[kind]
        assert all(getattr(table, name) is table[name] for name in kind.fields if name in table.all_columns)


def test_a_force_does_not_push_a_body_at_rest_into_a_wall() -> None:
    """1,000 N on 1 kg move it by 0.69 m in a step, more than any margin of bodies at rest."""
    wall = BodySpec(size=(0.5, 2.0, 2.0), position=(2.0, 0.0, 0.0), motion=physics.STATIC)
    sim = simulate([BodySpec(density=1.0).at(0.9, 0.0, 0.0), wall], gravity=np.zeros(3, np.float32))
    sim["Thing"].force.numpy()[0, 0] = (1000.0, 0.0, 0.0)
    sim.step()
    assert 0.95 < sim["Thing"].position.numpy()[0, 0, 0] < 1.01
