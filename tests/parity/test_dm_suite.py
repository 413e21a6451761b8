"""Tasks of the DeepMind Control Suite against dm_control, from the same states with the same actions.

States are equal bit for bit. So are observations that are copies; those that are sums agree to 1e-12, as rewards do.
"""

import warnings

import mujoco
import numpy as np
import pytest
from dm_suite_goals import set_goal
from thorough import THOROUGH

import worldloom as wl
from worldloom.core.model.fields import Role
from worldloom.envs.dm_suite.family import TASKS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # dm_control looks for a display
    from dm_control import suite

suite.quadruped.Physics.contexts = None  # its terrain is not rendered
NUM_WORLDS = 2
MAX_STEPS = 1000
STEPS = MAX_STEPS if THOROUGH else 60
SHORT = ["CartpoleThreePoles-v1", "FingerTurnEasy-v1", "HopperStand-v1", "QuadrupedFetch-v1"]
"""Tasks of ``make test``: both integrators, touch and force sensors, a target, actuators with a state."""
IDS = list(TASKS) if THOROUGH else SHORT
STATE = ("time", "qpos", "qvel", "act", "qacc_warmstart")
PARAMETERS = {"body_pos", "body_quat", "hfield_data", "wrap_prm"}
"""Parameters of the model that tasks draw for each episode."""
TOLERANCE = 1e-12
SUMS = {
    "dist_to_target", "extremities", "force_torque", "target", "target_position", "to_target", "torso_com_velocity",
    "touch", "origin", "ball_state", "arm_pos", "rangefinder",
}  # fmt: skip
"""Observations that are sums or functions of the state."""


class Reference:
    """An environment of dm_control in the state of one world after its reset."""

    def __init__(self, domain, task, robot, world):
        limit = {"time_limit": 30.0} if domain == "lqr" else {}  # EnvPool's; dm_control has none
        self.env = suite.load(domain, task, task_kwargs={"random": 0, **limit})
        self.env.reset()
        self.physics = self.env.physics
        if "goal" in robot.columns:
            set_goal(domain, self.physics, robot.goal.numpy()[world].reshape(-1))
        for name in PARAMETERS & robot.columns.keys():
            values = getattr(self.physics.model, name)
            values[:] = robot[name].numpy()[world].reshape(values.shape)
        mujoco.mj_resetData(self.physics.model.ptr, self.physics.data.ptr)
        for name in ("qpos", "qvel", "act", "qacc_warmstart"):
            if name in robot.columns:
                getattr(self.physics.data, name)[:] = robot[name].numpy()[world].reshape(-1)
        self.physics.after_reset()

    def state(self, name):
        return np.asarray(getattr(self.physics.data, name)).reshape(-1)

    def observations(self):
        return self.env.task.get_observation(self.physics)


def compare(name, found, expected):
    found, expected = np.asarray(found).reshape(-1), np.asarray(expected).reshape(-1)
    if name in SUMS:
        np.testing.assert_allclose(
            found, expected, rtol=TOLERANCE, atol=TOLERANCE * np.abs(expected).max(), err_msg=name
        )
    else:
        np.testing.assert_array_equal(found, expected, err_msg=name)


def compare_world(robot, world, reference):
    for name in STATE:
        if name in robot.columns:
            compare(name, robot[name].numpy()[world], reference.state(name))
    for name, expected in reference.observations().items():
        found = robot[name].numpy()[world, 0]
        assert found.shape == np.shape(expected) and found.dtype == np.float64, name
        compare(name, found, expected)


@pytest.mark.parametrize("id", IDS)
def test_steps_are_those_of_dm_control(id):
    domain, task = TASKS[id]
    simulation = wl.Simulation(id, num_worlds=NUM_WORLDS, seed=3)
    (kind,) = simulation.definition.rows
    robot = simulation[kind]
    references = [Reference(domain, task, robot, world) for world in range(NUM_WORLDS)]
    names = [name for name in robot.columns if robot[name].field.role is Role.OBSERVATION]
    assert names == list(references[0].observations()), "names and order of observations"
    spec = references[0].env.action_spec()
    generator = np.random.default_rng(0)
    low, high = np.maximum(spec.minimum, -1.0), np.minimum(spec.maximum, 1.0)
    for world, reference in enumerate(references):
        compare_world(robot, world, reference)
    for step in range(1, STEPS + 1):
        actions = generator.uniform(low, high, (NUM_WORLDS, 1, *spec.shape)).astype(np.float32)
        simulation.step(actions)
        for world, reference in enumerate(references):
            timestep = reference.env.step(actions[world, 0].astype(np.float64))
            found = robot.reward.numpy()[world, 0]
            assert found == pytest.approx(timestep.reward, rel=TOLERANCE, abs=1e-15), step
            assert simulation.truncated.numpy()[world] == (timestep.last() and timestep.discount == 1.0)
            assert simulation.terminated.numpy()[world] == (timestep.discount == 0.0)
            if not timestep.last():
                compare_world(robot, world, reference)
        if step == MAX_STEPS:
            assert simulation.truncated.numpy().all()
    assert not simulation.errors()


def test_ids_are_those_of_envpool():
    assert set(TASKS.values()) == set(suite.ALL_TASKS)
    envpool = pytest.importorskip("envpool")
    assert set(TASKS) <= set(envpool.list_all_envs())
