"""Settings, bodies and joints that have no meaning are named faults; joints and limits that once let energy grow."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from physics_scenes import FLOOR, BodySpec, JointSpec, Thing, simulate

import worldloom as wl
from worldloom import physics

BOX = BodySpec(physics.BOX, position=(0.0, 0.0, 2.0))
BASE = BodySpec(physics.BOX, motion=physics.STATIC, size=(0.1, 0.1, 0.1), position=(0.0, 0.0, 5.0))
ARM = BodySpec(physics.BOX, size=(0.1, 0.1, 0.4), position=(0.0, 0.0, 4.0))
HINGE = JointSpec(physics.HINGE, 0, 1, (0.0, 0.0, -0.5), (0.0, 0.0, 0.5), axis=(0.0, 1.0, 0.0))


def run(sim: wl.Simulation, steps: int) -> wl.Simulation:
    for _ in range(steps):
        sim.step()
    return sim


def fault(sim: wl.Simulation) -> str:
    return str(run(sim, 1).errors()[0])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"substeps": 0}, "substeps is 0: it must be 1 or more"),
        ({"sweeps": -3}, "sweeps is -3: it must be 1 or more"),
        ({"dt": -0.03}, "dt must be positive"),
        ({"margin": -1.0}, "margin must be 0 or more"),
    ],
)
def test_settings(settings: dict[str, float], message: str) -> None:
    assert message in fault(simulate([FLOOR, BOX], **settings))


@pytest.mark.parametrize("name", sorted(physics.World.config_limits))
def test_settings_below_zero(name: str) -> None:
    with pytest.raises(
        wl.InputError, match=f"configuration '{name}' of world 'PhysicsScene-v0' must be 0 or more, not -1"
    ):
        simulate([FLOOR, BOX], **{name: -1.0})
    simulate([FLOOR, BOX], **{name: 0.0}).close()


@pytest.mark.parametrize(
    ("component", "value", "message"),
    [
        ("mass", float("inf"), "has no mass"),
        ("inertia", -np.eye(3), "the inertia of body 1 is not positive"),
        ("motion", 5, "a body has motion 5"),
        ("motion", -1, "a body has motion -1"),
        ("shape", -1, "a body has shape -1"),
        ("shape", physics.PLANE, "has no mass"),
        ("size", [np.nan, 1.0, 1.0], "the size of body 1 is not finite"),
    ],
)
def test_components_of_a_body(component: str, value: object, message: str) -> None:
    sim = run(simulate([FLOOR, BOX]), 1)
    column = getattr(sim[Thing], component).torch()
    column[0, 1] = torch.as_tensor(value, dtype=column.dtype)
    assert message in fault(sim)


def test_negative_hulls_and_frictions() -> None:
    assert "a body has hull -1" in fault(simulate([FLOOR, BodySpec(physics.HULL, hull=-1, position=(0.0, 0.0, 2.0))]))
    sim = run(simulate([FLOOR, replace(BOX, position=(0.0, 0.0, 0.5))]), 1)
    sim[Thing].friction.torch()[0, 1] = -1.0
    assert "friction that is not 0 or more" in fault(sim)


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        (replace(HINGE, a=1, b=1), "joint 0 connects a body with itself"),
        (replace(HINGE, kind=9), "a joint has kind 9"),
        (replace(HINGE, axis=(0.0, 0.0, 0.0)), "joint 0 has no axis"),
    ],
)
def test_joints(joint: JointSpec, message: str) -> None:
    assert message in fault(simulate([BASE, ARM], joints=(joint,)))


def test_a_joint_without_a_body() -> None:
    sim = run(simulate([BASE, ARM], joints=(HINGE,)), 1)
    sim["Joint"].b.torch().view(-1)[0] = -1
    assert "joint 0 has no body at one of its ends" in fault(sim)


def test_joined_bodies_that_overlap_fall_freely() -> None:
    pair = [
        BodySpec(physics.BOX, size=(0.2, 0.2, 0.2), position=(0.0, 0.0, 2.0)),
        BodySpec(physics.BOX, size=(0.3, 0.3, 0.3), position=(0.1, 0.03, 2.05)),
    ]
    joint = JointSpec(physics.FIXED, 0, 1, (0.1, 0.03, 0.05), (0.0, 0.0, 0.0))
    sim = run(simulate(pair, joints=(joint,)), 20)
    velocity = sim[Thing].velocity.numpy()[0, :2]
    assert np.allclose(velocity, [0.0, 0.0, -9.8 * 20 / 30], atol=1e-4)
    assert not sim["Contact"].counts.numpy().any()


@pytest.mark.parametrize("force", [1e3, 1e5, 1e6])
def test_a_motor_stops_at_the_limit(force: float) -> None:
    joint = replace(HINGE, upper=0.5, motor_speed=5.0, motor_force=force)
    sim = run(simulate([BASE, ARM], joints=(joint,), gravity=(0.0, 0.0, 0.0)), 90)
    assert abs(float(sim["Joint"].rows("coordinate").numpy()[0]) - 0.5) < 0.005


def test_bodies_sleep_only_in_contact() -> None:
    sim = run(simulate([FLOOR, BOX], sleep_steps=0), 2)
    assert float(sim[Thing].velocity.numpy()[0, 1, 2]) < -0.6


def test_a_kinematic_plane_turns() -> None:
    plane = BodySpec(physics.PLANE, motion=physics.KINEMATIC, spin=(0.5, 0.0, 0.0))
    sim = run(simulate([plane, replace(BOX, position=(0.0, 0.0, 0.5))]), 30)
    assert np.allclose(sim[Thing].rotation.numpy()[0, 0], [np.sin(0.25), 0.0, 0.0, np.cos(0.25)], atol=1e-4)


def test_a_body_asleep_is_woken_by_its_rest() -> None:
    sim = run(simulate([FLOOR, replace(BOX, position=(0.0, 0.0, 0.5))]), 80)
    assert not sim[Thing].awake.numpy()[0, 1]
    sim[Thing].collision_mask.torch()[0, 1] = 0
    sim[Thing].rest.torch()[0, 1] = 0
    run(sim, 30)
    assert float(sim[Thing].position.numpy()[0, 1, 2]) < -1.0


@pytest.mark.parametrize(
    ("world", "body", "shapes", "message"),
    [
        (physics.World, physics.Body, ("box",), "shapes has 'box'"),
        (physics.World, wl.Entity, (physics.BOX,), "Entity is not derived from physics.Body"),
        (wl.World, physics.Body, (physics.BOX,), "World is not derived from physics.World"),
    ],
)
def test_arguments_of_systems(world: type, body: type, shapes: tuple[object, ...], message: str) -> None:
    with pytest.raises(wl.DefinitionError, match=message):
        physics.systems(world, body, shapes)
