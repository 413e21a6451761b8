"""Resets with MuJoCo Warp against the C engine, on the CPU: fresh arrays, settling, placements, geoms and tendons."""

from dataclasses import replace

import numpy as np
import pytest
import test_fresh_arrays
import test_placement
from thorough import THOROUGH

import worldloom as wl
from worldloom import robots

pytestmark = pytest.mark.skipif(not THOROUGH, reason="compiles MuJoCo Warp for minutes: make test-thorough")
NUM_WORLDS = 8
CABIN = """
<mujoco>
  <option timestep="0.01"/>
  <worldbody>
    <geom type="plane" size="5 5 1"/>
    <body name="shelf" pos="0 0 0.3"><geom type="box" size="0.3 0.3 0.02"/></body>
    <body name="ball" pos="0 0 1">
      <joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
      <geom type="sphere" size="0.1"/>
    </body>
  </worldbody>
  <tendon><fixed name="pull"><joint joint="x" coef="1"/><joint joint="z" coef="0"/></fixed></tendon>
  <actuator><motor tendon="pull" gear="60"/></actuator>
  <sensor><accelerometer site="tip"/></sensor>
</mujoco>
""".replace('<geom type="sphere" size="0.1"/>', '<geom type="sphere" size="0.1"/><site name="tip"/>')


def pair(definition):
    """The same world with the C engine and with MuJoCo Warp."""
    definition = replace(definition, cuda_float32=True, worlds_per_thread=1000)
    return [wl.Simulation(d, num_worlds=NUM_WORLDS, seed=2) for d in (definition, definition.for_cuda())]


def assert_alike(simulations, kind, names, when, tolerance=1e-3):
    for name in names:
        wide, narrow = (getattr(simulation[kind], name).numpy() for simulation in simulations)
        np.testing.assert_allclose(narrow, wide, atol=tolerance, rtol=tolerance, err_msg=f"{name} {when}")


@pytest.mark.parametrize("integrator", ["Euler", "RK4"])
def test_fresh_arrays_and_passive_resets(integrator):
    _, arm, definition = test_fresh_arrays.define(integrator)
    simulations = pair(replace(definition, max_steps=7))
    generator = np.random.default_rng(0)
    for step in range(20):
        assert_alike(simulations, arm, ("qpos", "qvel", "time", "xpos", "site_xpos", "sensordata"), f"at {step}")
        targets = generator.uniform(-1, 1, (NUM_WORLDS, 1, 1)).astype(np.float32)
        for simulation in simulations:
            simulation.step(targets)


def test_placements_without_contacts():
    kind, physics = test_placement.Balls, test_placement.PHYSICS
    draws = [
        robots.Draw(robots.DrawKind.QUATERNION, 3, repeated=False),
        robots.Draw(robots.DrawKind.CLIMB, test_placement.HEIGHT, 0.0, 0.03),
        robots.Draw(robots.DrawKind.UNIFORM, test_placement.SLIDE, -1.0, 1.0),
    ]
    reset = (physics.home, *robots.Placement(physics, draws, free_of_contacts=True).reset, physics.forward)
    simulations = pair(wl.Definition("Balls-v0", wl.World, {kind: 1}, reset=reset, step=physics.step, max_steps=3))
    for step in range(7):
        assert_alike(simulations, kind, ("qpos", "placed"), f"at {step}", 1e-4)
        for simulation in simulations:
            simulation.step()
    assert not any(simulation.errors() for simulation in simulations)


def test_impossible_placements_are_faults(monkeypatch):
    monkeypatch.setattr(robots.placement, "MAX_ATTEMPTS", 5)
    physics = test_placement.PHYSICS
    impossible = [robots.Draw(robots.DrawKind.UNIFORM, test_placement.HEIGHT, 0.0, 0.05)]
    reset = (physics.home, *robots.Placement(physics, impossible, free_of_contacts=True).reset, physics.forward)
    _, warp = pair(wl.Definition("Stuck-v0", wl.World, {test_placement.Balls: 1}, reset=reset, step=physics.step))
    warp.step()
    assert "no positions without contacts were found" in str(warp.errors()[0])


def cabin():
    model = robots.Model(CABIN)

    class Ball(wl.Entity, model.State):
        body_pos: model.body_pos
        wrap_prm: model.wrap_prm
        geom_xpos: model.geom_xpos
        xquat: model.xquat
        sensordata: model.sensordata
        pull: wl.Action(wl.Box(-1.0, 1.0, (1,)))
        reward: wl.Reward(wl.float64)

    class Room(wl.World):
        pass

    @wl.system
    def vary(ball: Ball, world: Room):
        ball.body_pos[1, 2] = world.random(0.2, 0.8)
        ball.wrap_prm[1] = world.random(-1.0, 1.0)

    @wl.system
    def drive(ball: Ball):
        ball.ctrl[0] = ball.pull[0]

    @wl.system
    def leave(ball: Ball, world: Room):
        if wl.abs(ball.qpos[0]) > 0.02:
            world.terminate()

    physics = robots.Physics(model, Ball, substeps=2, fresh=True, passive_forward=True)
    reset = (physics.home, vary, physics.settle(20), physics.forward)
    step = (drive, *physics.step, leave)
    return Ball, wl.Definition("Cabin-v0", Room, {Ball: 1}, reset=reset, step=step)


def test_settling_on_a_geom_that_a_parameter_moves():
    """Worlds begin new episodes at different steps; the others continue."""
    kind, definition = cabin()
    simulations = pair(definition)
    generator = np.random.default_rng(0)
    ended = np.zeros(NUM_WORLDS, dtype=int)
    for step in range(30):
        names = ("qpos", "qvel", "time", "geom_xpos", "xquat", "body_pos", "sensordata")
        assert_alike(simulations, kind, names, f"at {step}", 2e-3)
        pulls = generator.uniform(-1, 1, (NUM_WORLDS, 1, 1)).astype(np.float32)
        for simulation in simulations:
            simulation.step(pulls)
        ended += simulations[1].terminated.numpy().reshape(-1)
    assert ended.min() < ended.max()


def test_tendons_with_other_forces_are_refused():
    model = robots.Model(CABIN.replace('<fixed name="pull">', '<fixed name="pull" stiffness="1">'))

    class Sprung(wl.Entity, model.State):
        wrap_prm: model.wrap_prm

    physics = robots.Physics(model, Sprung)
    definition = wl.Definition("Sprung-v0", wl.World, {Sprung: 1}, reset=(physics.home,), step=physics.step)
    with pytest.raises(wl.InputError, match="'wrap_prm' has a value per world on a GPU only where tendons are fixed"):
        wl.Simulation(replace(definition, cuda_float32=True).for_cuda(), num_worlds=1, threads=1)
