"""Ramps of HideSeek: agents that drive straight up get onto what stands behind, locked or not."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hideseek_scenes import FORWARD, GRAB, ID, NOTHING, Scene, make_scene

import worldloom as wl
from worldloom import physics
from worldloom.envs.hideseek.entities import HIDERS, SOLID

RAMP_FOOT = -2.0  # m, from the centre of mass along its own y; its edge is at 1
TRIALS = list(itertools.product((10, 9, 8), (-0.5, 0.4), (0.0, 0.08)))
"""Choice of force, m to the right of the middle of the ramp, rad from its direction."""
GAPS = (0.0, 0.2, 0.0, 0.1)  # m, of these trials in turn, between the edge of the ramp and what is behind


@pytest.fixture(scope="module")
def sim(quick_compilation: None) -> Iterator[wl.Simulation]:
    simulation = wl.Simulation(ID, len(TRIALS), "cpu", seed=0, threads=1)
    yield simulation
    simulation.close()


def lock(scene: Scene, row: int) -> None:
    scene.solids.motion.numpy()[:, row] = physics.STATIC
    scene.solids.owner.numpy()[:, row] = HIDERS


def put_ramp(scene: Scene) -> int:
    """A ramp along y whose edge is just before y = 2, and the first seeker of each world before it; its row."""
    ramp = scene.boxes
    for world, (_choice, aside, turn) in enumerate(TRIALS):
        middle = 1.0 - GAPS[world % len(GAPS)]
        scene.put(ramp, 0.0, middle, world=world)
        scene.put(scene.first_agent + scene.hiders, aside, middle + RAMP_FOOT - 1.3, turn, world=world)
    return ramp


def drive(scene: Scene, steps: int = 120) -> Iterator[np.ndarray]:
    """Let the first seekers drive straight on; their positions after every step, shape (worlds, 3)."""
    nothing = np.tile(np.array(NOTHING, np.int32), (len(TRIALS), 3, 1))
    seekers = nothing.copy()
    seekers[:, 0, 1] = [choice for choice, _aside, _turn in TRIALS]
    for _ in range(steps):
        scene.sim.step({"Hider.choose": nothing, "Seeker.choose": seekers})
        yield scene.solids.position.numpy()[:, scene.first_agent + scene.hiders].copy()


@pytest.mark.parametrize("locked", [False, True])
def test_seekers_get_over_a_locked_box_by_a_ramp(sim: wl.Simulation, locked: bool) -> None:
    scene = make_scene(sim)
    scene.skip_preparation()
    scene.put(0, 0.0, 2.75)  # elongated: y from 2 to 3.5
    lock(scene, 0)
    ramp = put_ramp(scene)
    if locked:
        lock(scene, ramp)
    over = np.zeros(len(TRIALS), bool)
    for place in drive(scene):
        over |= (place[:, 1] > 2.75) & (place[:, 2] > 2.9)
        if over.all():
            break
    assert over.all(), [trial for trial, done in zip(TRIALS, over, strict=True) if not done]
    assert sim.errors() == []


def test_seekers_get_onto_a_box_that_is_free(sim: wl.Simulation) -> None:
    """They push ramp and box before them, and drive up meanwhile."""
    scene = make_scene(sim)
    scene.skip_preparation()
    scene.put(0, 0.0, 2.75)
    put_ramp(scene)
    up = np.zeros(len(TRIALS), bool)
    for place in drive(scene, 239):
        up |= place[:, 2] > 2.9
        if up.all():
            break
    assert up.all()


def test_seekers_look_over_a_wall_from_a_ramp(sim: wl.Simulation) -> None:
    """A wall is 0.5 m higher than a ramp: nobody gets over it, and who stands on the ramp sees what is behind."""
    scene = make_scene(sim)
    scene.skip_preparation()
    wall = scene.first_agent + scene.agents + 1
    scene.put(wall, 0.0, 2.2)
    scene.solids.size.numpy()[:, wall] = (8.0, 0.2, 1.25)
    level = sim["Level"].obstacles.numpy()
    level[:, 0, 0] = (-8.0, 2.0, 8.0, 2.4)
    sim.world.num_walls.numpy()[:] = 1
    put_ramp(scene)
    hider = scene.put_agent(0, 0.0, 12.0)
    for world, (_choice, _aside, turn) in enumerate(TRIALS):
        scene.put(hider, -10.0 * np.sin(turn), 12.0, world=world)
    seen_before = np.zeros(len(TRIALS), bool)
    for number, place in enumerate(drive(scene)):
        if number == 0:
            seen_before = sim.world.spotted.numpy().copy()
    assert not seen_before.any() and sim.world.spotted.numpy().all()
    assert (place[:, 1] < 1.1).all() and (place[:, 2] > 2.9).all()


def test_agents_do_not_pass_what_is_higher_than_a_step(sim: wl.Simulation) -> None:
    scene = make_scene(sim)
    scene.skip_preparation()
    scene.put(0, 0.0, 2.75)
    lock(scene, 0)
    row = scene.put_agent(0, 0.0, 0.0)
    for _ in range(30):
        scene.step(FORWARD)
    assert np.abs(scene.solids.position.numpy()[:, row, 1:] - (1.0, 1.0)).max() < 0.05


def test_nothing_is_within_reach_on_a_box(sim: wl.Simulation) -> None:
    """The hand is above all boxes there, so no agent moves or locks the box on which it stands."""
    scene = make_scene(sim)
    scene.put(0, 0.0, 0.0)
    scene.put_agent(0, 0.0, 0.0, z=3.0)
    scene.put(1, 0.0, 3.0)
    scene.step(GRAB)
    assert scene.joints() == 0


def test_the_interpreter_and_the_cpu_agree_at_the_edge() -> None:
    states, changed = [], []
    for device in ("python", "cpu"):
        with wl.Simulation(ID, 1, device, seed=0) as simulation:
            scene = make_scene(simulation, hiders=1, seekers=0)
            scene.put(0, 0.0, 2.75)
            lock(scene, 0)
            scene.put(scene.boxes, 0.0, 1.0)
            scene.put_agent(0, 0.0, 0.9, z=2.92)
            for _ in range(4):
                scene.step(FORWARD)
                contacts = simulation[SOLID.Contact]
                changed.append(0 in contacts.rows("num_points").tolist())
            states.append([contacts.rows("impulses").numpy(), scene.solids.padded("position").numpy()])
            assert simulation.errors() == []
    assert any(changed), "the agent passes the edge"
    for interpreted, compiled in zip(*states, strict=True):
        assert interpreted.tobytes() == compiled.tobytes()
