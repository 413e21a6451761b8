"""Placements: distributions of their draws, and initial states without contacts."""

import mujoco
import numpy as np
import pytest

import worldloom as wl
from worldloom import robots
from worldloom.robots import placement

ROOM = """
<mujoco>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body name="ball" pos="0 0 0">
      <freejoint name="root"/>
      <geom type="sphere" size="0.1"/>
    </body>
    <body name="arm" pos="1 0 0">
      <joint name="slide" type="slide" axis="0 0 1" range="-1 1" limited="true"/>
      <joint name="turn" type="hinge" axis="0 1 0"/>
      <geom type="sphere" size="0.1"/>
    </body>
  </worldbody>
</mujoco>
"""
MODEL = robots.Model(ROOM)
NUM_WORLDS = 400
HEIGHT, SLIDE, TURN = 2, 7, 8


class Balls(wl.Entity, MODEL.State, robots.PlacementState):
    reward: wl.Reward(wl.float64)


PHYSICS = robots.Physics(MODEL, Balls, fresh=True)


def place(draws, threads=1, **options):
    reset = (PHYSICS.home, *robots.Placement(PHYSICS, draws, **options).reset, PHYSICS.forward)
    world = wl.Definition("Balls-v0", wl.World, {Balls: 1}, reset=reset, step=PHYSICS.step, worlds_per_thread=1)
    simulation = wl.Simulation(world, num_worlds=NUM_WORLDS, seed=0, threads=threads)
    return simulation, simulation[Balls].qpos.numpy().reshape(NUM_WORLDS, MODEL.nq)


@pytest.fixture
def few_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give up after 20 attempts instead of thousands."""
    monkeypatch.setattr(placement, "MAX_ATTEMPTS", 20)


def num_contacts(qpos):
    data = mujoco.MjData(MODEL.mj_model)
    data.qpos[:] = qpos
    mujoco.mj_forward(MODEL.mj_model, data)
    return data.ncon


def test_draws_follow_the_joints():
    _, qpos = place(robots.limited_and_rotational(MODEL))
    assert np.allclose(np.linalg.norm(qpos[:, 3:7], axis=1), 1.0)
    assert (qpos[:, 3:7] >= 0.0).all(), "dm_control draws orientations of free joints from positive numbers"
    for column, bound in ((SLIDE, 1.0), (TURN, np.pi)):
        assert np.abs(qpos[:, column]).max() <= bound
        counts, _ = np.histogram(qpos[:, column], bins=4, range=(-bound, bound))
        assert (np.abs(counts - NUM_WORLDS / 4) < 5 * np.sqrt(NUM_WORLDS / 4)).all()
    assert [draw.address for draw in robots.limited_joints(MODEL)] == [SLIDE]


def test_quaternions_are_uniform_rotations():
    _, qpos = place([robots.Draw(robots.DrawKind.QUATERNION, 3)])
    assert np.allclose(np.linalg.norm(qpos[:, 3:7], axis=1), 1.0)
    assert (np.abs(qpos[:, 3:7].mean(axis=0)) < 5 * 0.5 / np.sqrt(NUM_WORLDS)).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_draws_are_repeated_until_nothing_touches(threads):
    draws = [
        robots.Draw(robots.DrawKind.QUATERNION, 3, repeated=False),
        robots.Draw(robots.DrawKind.CLIMB, HEIGHT, 0.0, 0.03),
        robots.Draw(robots.DrawKind.UNIFORM, SLIDE, -1.0, 1.0),
        robots.Draw(robots.DrawKind.COPY, TURN, SLIDE),
    ]
    simulation, qpos = place(draws, threads, free_of_contacts=True)
    assert not simulation.errors() and simulation[Balls].placed.numpy().all()
    assert not any(map(num_contacts, qpos))
    assert (qpos[:, TURN] == qpos[:, SLIDE]).all()
    assert qpos[:, SLIDE].min() > 0.1, "the arm is above the floor"
    attempts = np.rint(qpos[:, HEIGHT] / 0.03)
    assert attempts.min() == 4 and attempts.max() > 4, "the first height without contacts, or a later one"
    _, unchecked = place(draws)
    assert (unchecked[:, 3:7] == qpos[:, 3:7]).all(), "the orientation is drawn once"


def test_impossible_placements_are_faults(few_attempts):
    simulation, _ = place([robots.Draw(robots.DrawKind.UNIFORM, HEIGHT, 0.0, 0.05)], free_of_contacts=True)
    simulation.step()
    assert "no positions without contacts were found" in str(simulation.errors()[0])


def test_without_draws_only_contacts_are_checked(few_attempts):
    simulation, qpos = place([], free_of_contacts=True)
    assert (qpos == MODEL.mj_model.qpos0).all()
    assert not simulation[Balls].placed.numpy().any(), "the default pose touches the floor"


def test_kinds_without_the_state_are_refused():
    class Plain(wl.Entity, MODEL.State):
        pass

    with pytest.raises(wl.InputError, match="'Plain' lacks the state of placements"):
        robots.Placement(robots.Physics(MODEL, Plain), [])
