"""HideSeek: what actions do."""

from __future__ import annotations

import numpy as np
import pytest
from hideseek_scenes import FORWARD, GRAB, LOCK, NOTHING, make_scene

import worldloom as wl
from worldloom import physics
from worldloom.envs.hideseek.entities import FREE, HIDERS, SEEKERS, UNOWNABLE

BOX, RAMP = 0, 3  # rows with 3 boxes
HIDER, SEEKER = 0, 3  # numbers of agents
FULL_STEP = 96.0 * 5.0 * (1.0 + 2.0 + 3.0 + 4.0) / 120.0**2
"""m, of a mass of 1 kg at 5 choices of force from rest, over four substeps."""


def owner_and_motion(scene, row: int) -> tuple[int, int]:
    return int(scene.solids.owner.numpy()[0, row]), int(scene.solids.motion.numpy()[0, row])


@pytest.mark.parametrize(
    ("choice", "right", "forward"),
    [((5, 10), 0.0, 1.0), ((5, 0), 0.0, -1.0), ((10, 5), 1.0, 0.0), ((0, 5), -1.0, 0.0), ((5, 6), 0.0, 0.2)],
)
def test_forces_push_in_the_frame_of_the_agent(
    sim: wl.Simulation, choice: tuple[int, int], right: float, forward: float
) -> None:
    scene, yaw = make_scene(sim), 0.7
    row = scene.put_agent(HIDER, 1.0, 2.0, yaw)
    scene.step((*choice, 5, 0, 0))
    axes = np.array([[np.cos(yaw), np.sin(yaw)], [-np.sin(yaw), np.cos(yaw)]])
    expected = np.array([1.0, 2.0]) + FULL_STEP * (np.array([right, forward]) @ axes)
    np.testing.assert_allclose(scene.position(row)[:2], expected, atol=0.02 * FULL_STEP)


@pytest.mark.parametrize("choice", [0, 3, 10])
def test_torques_turn_about_the_vertical_axis(sim: wl.Simulation, choice: int) -> None:
    scene = make_scene(sim)
    row = scene.put_agent(HIDER, 0.0, 0.0)
    scene.step((5, 5, choice, 0, 0))
    rotation = scene.solids.rotation.numpy()[0, row]
    expected = 32.0 * (choice - 5) / (2.0 / 3.0) * 10.0 / 120.0**2  # torque / inertia of a cube of 2 m and 1 kg
    assert rotation[0] == rotation[1] == 0.0
    assert 2.0 * np.arctan2(rotation[2], rotation[3]) == pytest.approx(expected, rel=0.05)


def test_agents_stop_after_every_step(sim: wl.Simulation) -> None:
    """Only the velocity of a fall stays."""
    scene = make_scene(sim)
    ground, high = scene.put_agent(0, 0.0, 0.0), scene.put_agent(1, 10.0, 0.0, z=5.0)
    rising = scene.put_agent(2, -10.0, 0.0, z=5.0)
    scene.solids.velocity.numpy()[0, rising, 2] = 3.0
    scene.step((5, 10, 10, 0, 0), (5, 10, 10, 0, 0))
    velocity, spin = scene.solids.velocity.numpy()[0], scene.solids.spin.numpy()[0]
    assert (velocity[[ground, high, rising], :2] == 0.0).all() and (spin[[ground, high, rising]] == 0.0).all()
    assert velocity[high, 2] == pytest.approx(-9.8 / 30.0, rel=1e-4)
    assert velocity[rising, 2] == 0.0


def test_seekers_stand_still_during_the_preparation(sim: wl.Simulation) -> None:
    """They may lock and grab. They move from step 95 on."""
    scene = make_scene(sim)
    seeker, hider = scene.put_agent(SEEKER, 0.0, 0.0), scene.put_agent(HIDER, 10.0, 0.0)
    scene.put(BOX, 0.0, 3.0, z=1.0)
    scene.step(FORWARD, NOTHING, NOTHING, (10, 10, 10, 0, 1))
    assert np.abs(scene.position(seeker)[:2]).max() == 0.0 and scene.position(hider)[1] > 0.3
    assert owner_and_motion(scene, BOX) == (SEEKERS, physics.STATIC)
    sim.world.step.numpy()[:] = 94
    scene.step(NOTHING, NOTHING, NOTHING, (0, 5, 5, 0, 0))
    assert scene.position(seeker)[0] == 0.0
    assert int(sim.world.step.numpy()[0]) == 95
    scene.step(NOTHING, NOTHING, NOTHING, (0, 5, 5, 0, 0))
    assert scene.position(seeker)[0] < -0.3


def test_a_lock_is_opened_by_the_own_team_alone(sim: wl.Simulation) -> None:
    scene = make_scene(sim)
    scene.put_agent(HIDER, 0.0, 0.0)
    scene.put_agent(SEEKER, 0.0, 6.0, np.pi)
    scene.put(BOX, 0.0, 3.0)
    scene.step(LOCK)
    assert owner_and_motion(scene, BOX) == (HIDERS, physics.STATIC)
    scene.step(NOTHING, NOTHING, NOTHING, LOCK)
    assert owner_and_motion(scene, BOX) == (HIDERS, physics.STATIC)
    scene.step(LOCK)
    assert owner_and_motion(scene, BOX) == (FREE, physics.DYNAMIC)
    scene.step(NOTHING, NOTHING, NOTHING, LOCK)
    assert owner_and_motion(scene, BOX) == (SEEKERS, physics.STATIC)
    assert (int(sim.world.hider_locks.numpy()[0]), int(sim.world.seeker_locks.numpy()[0])) == (1, 1)


def test_both_teams_in_one_step_act_in_order(sim: wl.Simulation) -> None:
    """Hiders first: their lock keeps seekers out. Two hiders lock and unlock."""
    scene = make_scene(sim)
    scene.put_agent(0, 0.0, 0.0)
    scene.put_agent(SEEKER, 0.0, 6.0, np.pi)
    scene.put(BOX, 0.0, 3.0)
    scene.step(LOCK, NOTHING, NOTHING, LOCK)
    assert owner_and_motion(scene, BOX) == (HIDERS, physics.STATIC)
    scene.put_agent(1, 3.0, 3.0, np.pi / 2.0)
    scene.step(LOCK, LOCK)
    assert owner_and_motion(scene, BOX) == (HIDERS, physics.STATIC)


@pytest.mark.parametrize(("gap", "locked"), [(2.45, True), (2.55, False)])
def test_the_reach_is_measured_from_the_centre(sim: wl.Simulation, gap: float, locked: bool) -> None:
    scene = make_scene(sim)
    scene.put_agent(HIDER, 0.0, 0.0)
    scene.put(BOX, 0.0, gap + 0.75)  # an elongated box, 1.5 m deep
    scene.step(LOCK)
    assert (owner_and_motion(scene, BOX)[0] == HIDERS) == locked


def test_the_ray_passes_half_a_metre_above_the_centre(sim: wl.Simulation) -> None:
    """At 1.5 m it hits a ramp only where the ramp is that high: 0.75 m in front of its upper edge."""
    scene = make_scene(sim)
    scene.put_agent(HIDER, 0.0, 0.0)
    scene.put(RAMP, 0.0, 3.0)  # its foot at y = 1, 1.5 m high at y = 3.25
    scene.step(LOCK)
    assert owner_and_motion(scene, RAMP) == (FREE, physics.DYNAMIC)
    scene.put(RAMP, 0.0, 2.0)
    scene.step(LOCK)
    assert owner_and_motion(scene, RAMP) == (HIDERS, physics.STATIC)


def test_agents_and_walls_cannot_be_locked_or_grabbed(sim: wl.Simulation) -> None:
    scene = make_scene(sim)
    scene.put_agent(HIDER, 0.0, 0.0)
    other = scene.put_agent(SEEKER, 0.0, 3.0)
    scene.step((5, 5, 5, 1, 1))
    assert owner_and_motion(scene, other) == (UNOWNABLE, physics.DYNAMIC)
    assert scene.joints() == 0
    scene.put_agent(SEEKER, 50.0, 0.0)
    scene.put(BOX, 0.0, 3.2)
    sim.world.num_walls.numpy()[:] = 1
    sim["Level"].obstacles.numpy()[:, 0, 0] = (-5.0, 1.5, 5.0, 1.9)  # a wall before the box
    scene.step((5, 5, 5, 1, 1))
    assert owner_and_motion(scene, BOX) == (FREE, physics.DYNAMIC) and scene.joints() == 0


def test_a_locked_body_does_not_move(sim: wl.Simulation) -> None:
    scene = make_scene(sim)
    row = scene.put_agent(HIDER, 0.0, 0.0)
    scene.put(BOX, 0.0, 2.0)
    scene.step(LOCK)
    place = scene.position(BOX)
    for _ in range(5):
        scene.step(FORWARD)
    np.testing.assert_array_equal(scene.position(BOX), place)
    assert scene.position(row)[1] < 0.3
    scene.step((5, 10, 5, 0, 1))
    for _ in range(8):
        scene.step(FORWARD)
    assert scene.position(BOX)[1] > place[1] + 0.5


def test_a_grabbed_body_keeps_its_pose_before_the_agent(sim: wl.Simulation) -> None:
    """It is drawn along backwards and around; the second grab lets it go."""
    scene = make_scene(sim)
    row = scene.put_agent(HIDER, 0.0, 0.0)
    scene.put(BOX, 0.3, 3.0, 0.2)
    scene.step(GRAB)
    assert scene.joints() == 1 and scene.agent(HIDER, "myself")[7] == 1.0
    for _ in range(10):
        scene.step((5, 4, 6, 0, 0))
    assert scene.position(row)[1] < -0.3
    np.testing.assert_allclose(scene.seen_from(row, BOX), [0.3, 3.0], atol=0.05)
    scene.step(GRAB)
    assert scene.joints() == 0 and scene.agent(HIDER, "myself")[7] == 0.0
    for _ in range(50):  # it slides on, tips and falls back
        scene.step(NOTHING)
    place = scene.position(BOX)
    for _ in range(3):
        scene.step((5, 0, 5, 0, 0))
    np.testing.assert_allclose(scene.position(BOX), place, atol=0.02)


def test_a_locked_body_cannot_be_grabbed(sim: wl.Simulation) -> None:
    """Lock comes before grab where an agent chooses both."""
    scene = make_scene(sim)
    scene.put_agent(HIDER, 0.0, 0.0)
    scene.put(BOX, 0.0, 3.0)
    scene.step((5, 5, 5, 1, 1))
    assert owner_and_motion(scene, BOX) == (HIDERS, physics.STATIC) and scene.joints() == 0
    scene.step((5, 5, 5, 1, 1))
    assert owner_and_motion(scene, BOX) == (FREE, physics.DYNAMIC) and scene.joints() == 1


def test_two_agents_may_hold_one_body(sim: wl.Simulation) -> None:
    scene = make_scene(sim)
    scene.put_agent(0, 0.0, 0.0)
    scene.put_agent(1, 0.0, 6.0, np.pi)
    scene.put(BOX, 0.0, 3.0)
    scene.step(GRAB, GRAB)
    assert scene.joints() == 2
    scene.step(GRAB)
    assert scene.joints() == 1


def test_an_agent_at_rest_is_not_pushed_through_a_wall(sim: wl.Simulation) -> None:
    """Agents never fall asleep: they have no velocity between steps, even while they are pushed."""
    scene = make_scene(sim)
    sim.set_config("sleep_steps", 2)
    wall = scene.first_agent + scene.agents + 1
    scene.put(wall, 0.0, 3.2, z=1.25)
    scene.solids.size.numpy()[:, wall] = (5.0, 0.2, 1.25)
    seeker = scene.put_agent(SEEKER, 0.0, 1.5)
    scene.put_agent(HIDER, 0.0, -1.0)
    for _ in range(4):
        scene.step(NOTHING)
    for _ in range(10):
        scene.step(FORWARD)
    sim.set_config("sleep_steps", 20)
    assert 1.9 < scene.position(seeker)[1] < 2.1


@pytest.mark.parametrize(("row", "friction"), [(BOX, 4.0), (RAMP, 1.0)])
def test_the_friction_of_two_bodies_is_the_mean_of_both(sim: wl.Simulation, row: int, friction: float) -> None:
    """A body that slides on the floor, whose friction is 0.1, loses mean * g of its speed per second."""
    scene = make_scene(sim)
    scene.put(row, 0.0, 0.0)
    for _ in range(3):
        scene.step(NOTHING)
    scene.solids.velocity.numpy()[:, row] = (4.0, 0.0, 0.0)
    scene.step(NOTHING)
    slowed = (4.0 - scene.solids.velocity.numpy()[0, row, 0]) * 30.0
    assert slowed == pytest.approx(0.5 * (friction + 0.1) * 9.8, rel=0.02)
