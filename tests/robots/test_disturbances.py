"""Pushes, delays and noise of controls."""

import numpy as np
import pytest
import test_physics

import worldloom as wl
from worldloom import robots

MODEL = test_physics.MODEL
LOWER = MODEL.body("lower")


class Harried(wl.Entity, MODEL.State, robots.Pushed, robots.delayed(MODEL, 2)):
    xfrc_applied: MODEL.xfrc_applied
    torque: wl.Action(wl.Box(-1.0, 1.0, (2,)))
    reward: wl.Reward(wl.float64)


@wl.system
def drive(arm: Harried):
    for i in range(2):
        arm.ctrl[i] = arm.torque[i]


PHYSICS = robots.Physics(MODEL, Harried)


def run(*systems, steps):
    definition = wl.Definition(
        "Harried-v0",
        test_physics.Room,
        {Harried: 1},
        reset=(PHYSICS.home, PHYSICS.forward),
        step=(drive, *systems, *PHYSICS.step),
    )
    simulation = wl.Simulation(definition, num_worlds=200, seed=0)
    table, seen = simulation[Harried], []
    for step in range(steps):
        simulation.step(np.full((200, 1, 2), (step + 1) / 10, np.float32))
        seen.append((table.xfrc_applied.numpy()[:, 0, LOWER, :3].copy(), table.ctrl.numpy()[:, 0].copy()))
    return [np.array(values) for values in zip(*seen, strict=True)]


def test_pushes_come_within_their_bounds():
    forces, _ = run(robots.push_system(Harried, LOWER, 2.0, 5.0, 3, 6), steps=40)
    size = np.linalg.norm(forces, axis=-1)
    pushed = size > 0
    assert ((size[pushed] >= 2.0 - 1e-5) & (size[pushed] <= 5.0 + 1e-5)).all()
    gaps = np.concatenate([np.diff(np.flatnonzero(world)) for world in pushed.T])
    assert set(gaps.tolist()) == {3, 4, 5, 6}
    angles = np.arctan2(forces[pushed][:, 1], forces[pushed][:, 0])
    assert abs(np.cos(angles).mean()) < 0.1
    assert not forces[..., 2].any()


def test_controls_are_delayed():
    _, controls = run(robots.delay_system(Harried), steps=6)
    np.testing.assert_allclose(controls[:, 7, 1], [0.0, 0.0, 0.1, 0.2, 0.3, 0.4], atol=1e-7)


def test_noise_of_controls():
    _, controls = run(robots.control_noise_system(Harried, 0.5), steps=20)
    noise = controls - (np.arange(20) + 1)[:, None, None] / 10
    assert abs(noise.std() - 0.5) < 0.02
    assert abs(noise.mean()) < 0.02


def test_missing_components_are_named():
    with pytest.raises(
        wl.InputError, match="push_system needs the component 'xfrc_applied', which 'Arm' does not have"
    ):
        robots.push_system(test_physics.Arm, LOWER, 1.0, 2.0, 3, 6)
    with pytest.raises(wl.InputError, match="every 1 step or more"):
        robots.push_system(Harried, LOWER, 1.0, 2.0, 0, 6)
