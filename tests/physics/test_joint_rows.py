"""Joints as rows: systems make and remove them, they follow their bodies, and they end with them."""

import numpy as np
import pytest

import worldloom as wl
from worldloom import physics


class Part(physics.Body):
    pass


class Bench(physics.World):
    release: wl.Config = 1000  # step in which the joint is removed
    remove: wl.Config = -1  # row of the body that is removed in step 2
    motion: wl.Config = physics.DYNAMIC  # of the held box from step 2 on


SOLID = physics.systems(Bench, Part)


@wl.system
def build(world: Bench):
    world.spawn(Part, position=wl.vec3(9.0, 0.0, 0.0), motion=physics.STATIC)
    anchor = world.spawn(Part, size=wl.vec3(0.1, 0.1, 0.1), position=wl.vec3(0.0, 0.0, 5.0), motion=physics.STATIC)
    box = world.spawn(Part, size=wl.vec3(0.2, 0.2, 0.2), position=wl.vec3(1.0, 0.0, 5.0))
    world.spawn(SOLID.Joint, kind=physics.FIXED, a=anchor, b=box, anchor_a=wl.vec3(1.0, 0.0, 0.0))


@wl.system
def change(world: Bench):
    if world.step == 2:
        if world.remove >= 0:
            part = world.at(Part, world.remove)
            part.despawn()
        box = world.at(Part, 2)
        box.motion = world.motion
    if world.step == world.release:
        for joint in world.all(SOLID.Joint):
            joint.despawn()


wl.register(
    "PhysicsBench-v0",
    world=Bench,
    entities={Part: wl.UpTo(4), **SOLID.entities(pairs=6, contacts=6, joints=2)},
    reset=[build],
    step=[change, *SOLID.step],
)


def bench(steps: int = 12, **config) -> wl.Simulation:
    sim = wl.Simulation("PhysicsBench-v0", 1, "python", seed=0, config=config)
    for _ in range(steps):
        sim.step()
    assert sim.errors() == []
    return sim


def joints(sim: wl.Simulation) -> int:
    return int(sim[SOLID.Joint].counts.numpy()[0])


def test_a_joint_holds_a_body_until_a_system_removes_it():
    held = bench()
    assert joints(held) == 1
    assert held[Part].position.numpy()[0, 2] == pytest.approx([1.0, 0.0, 5.0], abs=2e-3)
    dropped = bench(release=4)
    assert joints(dropped) == 0
    assert dropped[Part].position.numpy()[0, 2, 2] < 4.8


@pytest.mark.parametrize("row", [1, 2])
def test_a_joint_ends_with_either_of_its_bodies(row):
    sim = bench(remove=row, motion=physics.DYNAMIC if row == 1 else physics.STATIC)
    assert joints(sim) == 0


def test_a_joint_follows_its_bodies_to_other_rows():
    sim = bench(remove=0)
    assert joints(sim) == 1
    assert sim[SOLID.Joint].b_id.numpy()[0, 0] == 1
    assert sim[Part].position.numpy()[0, 1] == pytest.approx([1.0, 0.0, 5.0], abs=2e-3)


def test_a_joint_of_two_bodies_that_do_not_move_is_idle():
    sim = bench(motion=physics.STATIC)
    assert joints(sim) == 1
    assert np.abs(sim[Part].velocity.numpy()[0, 2]).max() < 0.5
    assert np.isfinite(sim[SOLID.Joint].linear_impulse.numpy()).all()


def test_a_kinematic_body_carries_a_joined_one():
    sim = wl.Simulation("PhysicsBench-v0", 1, "python", seed=0)
    parts = sim[Part]
    parts.motion.numpy()[0, 1] = physics.KINEMATIC
    parts.velocity.numpy()[0, 1] = (0.0, 0.6, 0.0)
    for _ in range(20):
        sim.step()
    assert parts.position.numpy()[0, 1] == pytest.approx([0.0, 0.4, 5.0], abs=1e-5)
    assert parts.position.numpy()[0, 2] == pytest.approx([1.0, 0.4, 5.0], abs=5e-3)
