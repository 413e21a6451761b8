"""Static bodies keep the inverse inertias that were stored once; all else is derived in each step, whatever changes."""

import numpy as np
import pytest
from physics_scenes import FLOOR, BodySpec, Thing, simulate

import worldloom as wl
from worldloom import physics

WALL = BodySpec(physics.BOX, position=(3.0, 0.0, 0.5), motion=physics.STATIC)
DERIVED = ("radius", "lower", "upper", "inverse_mass", "inverse_inertia", "world_inverse_inertia", "awake", "mover")
TURNED = (0.5, 0.5, 0.5, 0.5)


def derived(sim, row=1):
    return {name: sim[Thing][name].numpy()[0, row].copy() for name in DERIVED}


def assert_derived_as_from(spec, sim):
    """The wall has the derived components that it has in a new world."""
    sim.step()
    assert sim.errors() == []
    fresh = simulate([FLOOR, spec])
    fresh.step()
    for name, value in derived(fresh).items():
        assert np.array_equal(derived(sim)[name], value) and np.array_equal(
            np.signbit(derived(sim)[name].astype(float)), np.signbit(value.astype(float))
        ), name


@pytest.fixture
def settled():
    sim = simulate([FLOOR, WALL])
    for _ in range(3):
        sim.step()
    assert sim[Thing].zero_inverses.numpy()[0, :2].all()
    return sim


def test_a_static_body_that_is_moved_turned_or_resized(settled):
    settled[Thing].position.numpy()[0, 1] = (4.0, 1.0, 0.5)
    assert_derived_as_from(WALL.at(4.0, 1.0, 0.5), settled)
    settled[Thing].rotation.numpy()[0, 1] = TURNED
    assert_derived_as_from(BodySpec(position=(4.0, 1.0, 0.5), motion=physics.STATIC, rotation=TURNED), settled)
    settled[Thing].size.numpy()[0, 1] = (0.2, 0.3, 0.4)
    turned = BodySpec(position=(4.0, 1.0, 0.5), motion=physics.STATIC, rotation=TURNED, size=(0.2, 0.3, 0.4))
    assert_derived_as_from(turned, settled)


def test_a_static_body_whose_inverse_inertia_has_negative_zeros(settled):
    rotation = np.array([-0.3, -0.5, 0.6, 0.2], np.float32)
    settled[Thing].rotation.numpy()[0, 1] = rotation / np.linalg.norm(rotation)
    spec = BodySpec(position=WALL.position, motion=physics.STATIC, rotation=tuple(rotation / np.linalg.norm(rotation)))
    assert_derived_as_from(spec, settled)


def test_a_static_body_that_becomes_dynamic_and_static_again(settled):
    settled[Thing].motion.numpy()[0, 1] = physics.DYNAMIC
    settled.step()
    body = settled[Thing]
    assert not body.zero_inverses.numpy()[0, 1] and body.inverse_mass.numpy()[0, 1] > 0.0
    assert (np.diag(body.inverse_inertia.numpy()[0, 1]) > 0.0).all()
    assert body.awake.numpy()[0, 1]
    body.motion.numpy()[0, 1] = physics.STATIC
    body.velocity.numpy()[0, 1] = (1.0, 2.0, 3.0)
    settled.step()
    assert not body.velocity.numpy()[0, 1].any() and not body.inverse_inertia.numpy()[0, 1].any()
    assert not body.world_inverse_inertia.numpy()[0, 1].any() and not body.awake.numpy()[0, 1]


class Stone(physics.Body):
    gone: bool


class Yard(physics.World):
    pass


YARD = physics.systems(Yard, Stone, shapes=(physics.BOX,))


@wl.system
def lay(world: Yard):
    for i in range(4):
        motion = physics.DYNAMIC if i % 2 == 1 else physics.STATIC
        world.spawn(Stone, position=wl.vec3(3.0 * float(i), 0.0, 0.0), motion=motion)


@wl.system
def remove(stone: Stone):
    if stone.gone:
        stone.despawn()


def test_rows_that_move_take_what_was_derived_with_them():
    kinds = {Stone: wl.UpTo(6), **YARD.entities(pairs=8, contacts=8)}
    made = wl.Definition("Yard-v0", Yard, kinds, reset=[lay], step=[remove, *YARD.step])
    with wl.Simulation(made, 1, "python") as sim:
        sim.step()
        sim.step()
        sim[Stone].gone.numpy()[0, 0] = True
        sim.step()
        stones = sim[Stone]
        moves = stones.motion.numpy()[0, :3] == physics.DYNAMIC
        assert moves.tolist() == [True, False, True]
        assert (stones.zero_inverses.numpy()[0, :3] == ~moves).all()
        assert ((stones.inverse_inertia.numpy()[0, :3, 0, 0] > 0.0) == moves).all()
        assert ((stones.world_inverse_inertia.numpy()[0, :3, 1, 1] > 0.0) == moves).all()
        assert stones.lower.numpy()[0, :3, 0] == pytest.approx([2.48, 5.48, 8.48], abs=0.2)
