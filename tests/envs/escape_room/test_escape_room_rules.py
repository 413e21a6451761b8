"""The rules of Escape Room one by one; docs/worlds/escape_room.md has a table of rules and tests."""

from __future__ import annotations

import numpy as np
import pytest
from escape_scenes import LENGTH, agent_state, door_bottom, level, put_agent, put_buttons, put_cube, step

import worldloom as wl
from worldloom.envs.escape_room.entities import (
    CUBE_BUTTONS,
    DOUBLE_BUTTON,
    FIRST_AGENT,
    FIRST_CUBE,
    SINGLE_BUTTON,
)

FAR = (8.0, 2.0)
GRAB = (0, 0, 2, 1)


@pytest.mark.parametrize("amount", [1, 2, 3])
@pytest.mark.parametrize("direction", [0, 1, 2, 4, 7])
def test_force_moves_an_agent_relative_to_its_heading(amount: int, direction: int) -> None:
    sim = level()
    put_agent(sim, 0, (0.0, 6.0), yaw=0.5)
    step(sim, (amount, direction, 2, 0))
    position, yaw = agent_state(sim)
    offset = position - (0.0, 6.0, 1.0)
    heading = 0.5 - direction * np.pi / 4.0  # counter-clockwise from y
    # Four substeps of 0.01 s gain 1,000 / 3 m/s² per amount, less friction: 0.1 m (1 + 2 + 3 + 4) / 3.
    assert np.hypot(*offset[:2]) == pytest.approx(amount / 3.0 - 0.0049, abs=0.002)
    assert np.arctan2(-offset[0], offset[1]) == pytest.approx(np.arctan2(np.sin(heading), np.cos(heading)), abs=0.01)
    assert yaw == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("turn", range(5))
def test_torque_turns_an_agent_about_the_vertical(turn: int) -> None:
    sim = level()
    put_agent(sim, 0, (0.0, 6.0))
    step(sim, (0, 0, turn, 0))
    position, yaw = agent_state(sim)
    assert yaw == pytest.approx(0.24 * (turn - 2), abs=0.02)  # 160 N m / (2/3 kg m²) for 0.04 s in 4 substeps
    assert position == pytest.approx((0.0, 6.0, 1.0), abs=0.01)


def test_agents_stop_after_every_step() -> None:
    sim = level()
    step(sim, (3, 0, 4, 0), (2, 3, 0, 0))
    rows = slice(FIRST_AGENT, FIRST_AGENT + 2)
    assert (sim["Body"].velocity.numpy()[0, rows, :2] == 0.0).all()
    assert (sim["Body"].velocity.numpy()[0, rows, 2] <= 0.0).all()
    assert (sim["Body"].spin.numpy()[0, rows] == 0.0).all()


def test_walls_and_closed_doors_stop_agents() -> None:
    sim = level(8)
    for direction in range(8):
        put_agent(sim, 0, (2.0, 6.0), world=direction)
        put_agent(sim, 1, (-3.0, 6.0), world=direction)
    for _ in range(60):
        sim.step(np.array([[(3, k, 2, 0), (3, k, 2, 0)] for k in range(8)], np.int32))
        position = sim["Body"].position.numpy()[:, FIRST_AGENT : FIRST_AGENT + 2]
        assert (np.abs(position[..., 0]) < 9.1).all()
        assert (position[..., 1] > 0.9).all()
        assert (position[..., 1] < LENGTH - 1.9).all()
    assert position[0, :, 1] == pytest.approx(LENGTH - 2.0, abs=0.1)


def test_a_pushed_cube_moves_and_slides_to_a_stop() -> None:
    sim = level(first_room=CUBE_BUTTONS)
    put_cube(sim, 0, (0.0, 6.0))
    put_cube(sim, 1, (7.0, 10.0))
    put_agent(sim, 0, (0.0, 3.4))
    put_agent(sim, 1, (-8.0, 2.0))
    step(sim, (3, 0, 2, 0), times=2)
    pushed = sim["Body"].position.numpy()[0, FIRST_CUBE].copy()
    assert pushed[1] > 6.1 and pushed[2] == pytest.approx(1.5, abs=0.02)
    step(sim, times=40)
    assert np.abs(sim["Body"].velocity.numpy()[0, FIRST_CUBE]).max() < 0.02


def test_both_buttons_open_a_door_that_stays_open() -> None:
    sim = level(first_room=DOUBLE_BUTTON)
    put_buttons(sim, 0, (-4.0, 5.0), (4.0, 5.0))
    put_agent(sim, 1, FAR)
    step(sim)
    assert sim["Button"].is_pressed.numpy()[0, :2].tolist() == [False, True]
    assert not sim["Room"].is_open.numpy()[0, 0]
    put_agent(sim, 1, (-4.0, 5.0))
    step(sim)
    assert sim["Button"].is_pressed.numpy()[0, :2].all() and sim["Room"].is_open.numpy()[0, 0]
    put_agent(sim, 1, FAR)
    step(sim)
    assert not sim["Button"].is_pressed.numpy()[0, 0] and sim["Room"].is_open.numpy()[0, 0]


def test_one_button_opens_the_door_of_a_room_with_one() -> None:
    sim = level(first_room=SINGLE_BUTTON)
    put_buttons(sim, 0, (4.0, 5.0), (9.0, 9.0))
    step(sim)
    assert sim["Room"].is_open.numpy()[0, 0]
    put_agent(sim, 0, FAR)
    step(sim)
    assert sim["Room"].is_open.numpy()[0, 0]


def test_a_door_held_by_cubes_closes_without_them() -> None:
    sim = level(first_room=CUBE_BUTTONS)
    put_buttons(sim, 0, (-7.0, 8.0), (7.0, 8.0))
    put_cube(sim, 0, (-7.0, 8.0))
    put_cube(sim, 1, (7.0, 8.0))
    step(sim)
    assert sim["Room"].is_open.numpy()[0, 0]
    put_cube(sim, 1, (4.0, 9.0))
    step(sim)
    assert sim["Button"].is_pressed.numpy()[0, :2].tolist() == [True, False]
    assert not sim["Room"].is_open.numpy()[0, 0]


def test_a_door_sinks_and_rises_at_its_speed() -> None:
    """The step that opens a door does not move it: doors move at the start of a step."""
    sim = level(first_room=CUBE_BUTTONS)
    put_buttons(sim, 0, (-7.0, 8.0), (7.0, 8.0))
    put_cube(sim, 0, (-7.0, 8.0))
    put_cube(sim, 1, (7.0, 8.0))
    heights = []
    for _ in range(6):
        step(sim)
        heights.append(door_bottom(sim))
    assert heights == pytest.approx([0.0, -1.2, -2.4, -3.6, -4.5, -4.5], abs=1e-5)
    put_cube(sim, 1, (4.0, 9.0))
    heights = []
    for _ in range(6):
        step(sim)
        heights.append(door_bottom(sim))
    assert heights == pytest.approx([-4.5, -3.3, -2.1, -0.9, 0.0, 0.0], abs=1e-5)


@pytest.mark.parametrize(
    ("x", "z", "pressed"), [(1.6, 1.0, True), (1.7, 1.0, False), (0.0, 1.2, True), (0.0, 1.4, False)]
)
def test_a_button_is_pressed_where_its_box_overlaps_a_body(x: float, z: float, pressed: bool) -> None:
    """The box is 1.3 wide and 0.25 high; the agent is 2 wide, and falls by less than 0.01 m in the step."""
    sim = level(first_room=SINGLE_BUTTON)
    put_buttons(sim, 0, (0.0, 5.0))
    put_agent(sim, 1, FAR)
    put_agent(sim, 0, (x, 5.0))
    sim["Body"].position.numpy()[0, FIRST_AGENT, 2] = z
    step(sim)
    assert sim["Button"].is_pressed.numpy()[0, 0] == pressed


def test_progress_is_rewarded_once() -> None:
    sim = level()
    put_agent(sim, 1, (-4.0, 9.0))
    before, _ = agent_state(sim)
    step(sim, (3, 0, 2, 0))
    gain = agent_state(sim)[0][1] - before[1]
    assert sim["Agent"].reward.numpy()[0] == pytest.approx([0.05 * gain, -0.005], abs=1e-6)
    step(sim, (3, 4, 2, 0))
    assert sim["Agent"].reward.numpy()[0] == pytest.approx([-0.005, -0.005])
    step(sim, (2, 0, 2, 0))  # not as far as before
    assert sim["Agent"].reward.numpy()[0, 0] == pytest.approx(-0.005)
    assert sim["Agent"].max_y.numpy()[0, 0] == pytest.approx(before[1] + gain)


@pytest.mark.parametrize(("partner", "factor"), [(7.9, 1.25), (8.1, 1.0), (4.2, 1.25), (3.9, 1.0)])
def test_partners_that_are_as_far_get_a_bonus(partner: float, factor: float) -> None:
    """Progress counts, not the place: the first agent reaches y = 6.0 in this step."""
    sim = level()
    put_agent(sim, 1, (-4.0, 2.0))
    sim["Agent"].max_y.numpy()[0, 1] = partner
    step(sim, (3, 0, 2, 0))
    y = agent_state(sim)[0][1]
    assert y == pytest.approx(6.0, abs=0.01)
    rewards = sim["Agent"].reward.numpy()[0]
    assert rewards == pytest.approx([0.05 * (y - 5.0) * factor, -0.005], rel=1e-4)


def test_progress_counts_up_to_its_limit() -> None:
    sim = level()
    put_agent(sim, 0, (0.0, 79.5))
    step(sim, (3, 0, 2, 0))
    assert sim["Agent"].max_y.numpy()[0, 0] == 80.0
    assert sim["Agent"].reward.numpy()[0, 0] == pytest.approx(0.05 * 0.5)
    step(sim, (3, 0, 2, 0))
    assert sim["Agent"].reward.numpy()[0, 0] == pytest.approx(-0.005)


def test_an_episode_has_200_steps() -> None:
    sim = level()
    for number in range(1, 200):
        step(sim)
        assert not sim.terminated.numpy()[0]
        left = sim["Agent"].sight.numpy()[0, :, 92]
        assert left == pytest.approx([1.0 - number / 200.0] * 2, abs=1e-6)
    step(sim)
    assert sim.terminated.numpy()[0] and sim["Agent"].sight.numpy()[0, 0, 92] == 1.0
    step(sim)
    assert not sim.terminated.numpy()[0]


@pytest.mark.parametrize(
    ("places", "passed"), [((13.0, 41.0), 0), ((14.0, 41.0), 1), ((27.0, 30.0), 2), ((40.5, 41.0), 3)]
)
def test_rooms_count_when_both_agents_have_passed_them(places: tuple[float, float], passed: int) -> None:
    sim = level()
    put_agent(sim, 0, (12.5, places[0]))  # outside of the rooms, where nothing is in the way
    put_agent(sim, 1, (-12.5, places[1]))
    step(sim)
    assert sim["Agent"].rooms_passed.numpy()[0].tolist() == [passed] * 2
    assert sim["Agent"].escaped.numpy()[0].tolist() == [float(passed == 3)] * 2


def grab_scene(distance: float, yaw: float = 0.0) -> wl.Simulation:
    """Agent 0 faces a cube whose side is ``distance`` away from the agent's centre."""
    sim = level(first_room=CUBE_BUTTONS)
    put_cube(sim, 0, (0.0, 8.0))
    put_cube(sim, 1, (7.0, 10.0))
    put_agent(sim, 0, (0.0, 6.5 - distance), yaw)
    return sim


@pytest.mark.parametrize(("distance", "holds"), [(1.3, True), (1.9, True), (2.1, False)])
def test_a_grab_reaches_2_m_and_a_second_one_releases(distance: float, holds: bool) -> None:
    sim = grab_scene(distance)
    step(sim, GRAB)
    assert sim["Agent"].is_grabbing.numpy()[0].tolist() == [holds, False]
    assert sim["Joint"].counts.numpy()[0] == int(holds)
    step(sim)
    assert sim["Agent"].is_grabbing.numpy()[0, 0] == holds
    if holds:
        step(sim, GRAB)
        assert not sim["Agent"].is_grabbing.numpy()[0, 0]
        assert sim["Joint"].counts.numpy()[0] == 0


def test_a_held_cube_follows_the_agent() -> None:
    sim = grab_scene(1.3)
    step(sim, GRAB)
    gap = sim["Body"].position.numpy()[0, FIRST_CUBE] - agent_state(sim)[0]
    step(sim, (1, 4, 2, 0), times=12)  # backwards
    cube = sim["Body"].position.numpy()[0, FIRST_CUBE].copy()
    assert cube[1] < 7.5
    assert cube - agent_state(sim)[0] == pytest.approx(gap, abs=0.1)
    step(sim, GRAB)
    step(sim, times=20)
    before = sim["Body"].position.numpy()[0, FIRST_CUBE].copy()
    step(sim, (1, 4, 2, 0), times=2)
    assert sim["Body"].position.numpy()[0, FIRST_CUBE] == pytest.approx(before, abs=0.02)


def test_walls_doors_and_agents_cannot_be_grabbed() -> None:
    sim = level(3)
    put_agent(sim, 0, (9.0 - 0.5, 5.0), yaw=-np.pi / 2.0, world=0)  # faces the right wall
    door_x = float(sim["Room"].door_x.numpy()[1, 0])
    put_agent(sim, 0, (door_x, LENGTH - 2.5), world=1)
    put_agent(sim, 0, (0.0, 4.0), world=2)
    put_agent(sim, 1, (0.0, 6.5), world=2)
    step(sim, GRAB)
    assert not sim["Agent"].is_grabbing.numpy().any() and (sim["Joint"].counts.numpy() == 0).all()


def test_a_new_episode_releases_cubes() -> None:
    sim = grab_scene(1.3)
    step(sim, GRAB)
    sim.reset()
    assert not sim["Agent"].is_grabbing.numpy().any() and sim["Joint"].counts.numpy()[0] == 0


def test_settings_change_without_compiling_again() -> None:
    sim = level(2, max_steps=3, reward_per_distance=1.0, slack_reward=-1.0, move_force=500.0, cube_half=1.0, width=16.0)
    step(sim, (3, 0, 2, 0))
    assert sim["Agent"].reward.numpy()[0] == pytest.approx([1.25 * 0.4951, -1.0], abs=0.01)
    assert (sim["Body"].size.numpy()[:, FIRST_CUBE:] == 1.0).all()
    assert np.abs(sim["Body"].position.numpy()[:, 4:6, 0]) == pytest.approx(8.5)
    step(sim, times=2)
    assert sim.terminated.numpy().all()
