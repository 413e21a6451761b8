"""Initial states of the DeepMind Control Suite's tasks: the same distributions as in dm_control."""

import warnings

import numpy as np
import pytest
from dm_suite_goals import GOALS, get_goal
from scipy.stats import ks_2samp
from thorough import sample

import worldloom as wl
from worldloom.envs.dm_suite.family import TASKS

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # dm_control looks for a display
    from dm_control import suite

suite.quadruped.Physics.contexts = None  # its terrain is not rendered
PARAMETERS = ("body_pos", "body_quat", "wrap_prm")
"""Parameters of the model that tasks draw for each episode."""
NUM_WORLDS = 1000
NUM_RESETS = 300
SIGNIFICANCE = 1e-5
"""Probability of a failure by chance, over all numbers of a state."""
IDS = [
    "FishSwim-v1", "CartpoleThreePoles-v1", "CartpoleBalance-v1", "PendulumSwingup-v1", "CheetahRun-v1", "WalkerRun-v1",
    "HopperHop-v1", "ReacherHard-v1", "HumanoidRun-v1", "PointMassEasy-v1", "AcrobotSwingup-v1", "FingerTurnHard-v1",
    "SwimmerSwimmer6-v1", "BallInCupCatch-v1", "HumanoidCMUStand-v1", "QuadrupedWalk-v1", "QuadrupedFetch-v1",
    "LqrLqr62-v1", "StackerStack2-v1", "ManipulatorInsertPeg-v1", "ManipulatorBringBall-v1", "PointMassHard-v1",
    "QuadrupedEscape-v1", "DogFetch-v1",
]  # fmt: skip


@pytest.mark.parametrize("id", sample(IDS, 1))
def test_initial_states_have_the_distribution_of_dm_control(id):
    domain, task = TASKS[id]
    simulation = wl.Simulation(id, num_worlds=NUM_WORLDS, seed=1)
    robot = simulation[next(iter(simulation.definition.rows))]
    names = [name for name in ("qpos", "qvel", "act", *PARAMETERS) if name in robot.columns]
    listed = [*names, "goal"] if domain in GOALS else names
    found = {name: robot[name].numpy().reshape(NUM_WORLDS, -1) for name in listed}
    env = suite.load(domain, task, task_kwargs={"random": 1})
    expected = {name: [] for name in found}
    for _ in range(NUM_RESETS):
        env.reset()
        for name in names:
            owner = env.physics.model if name in PARAMETERS else env.physics.data
            expected[name].append(np.array(getattr(owner, name)).reshape(-1))
        if "goal" in found:
            expected["goal"].append(get_goal(domain, env.physics))
    count = sum(values.shape[1] for values in found.values())
    for name, values in found.items():
        reference = np.array(expected[name])
        for i in range(values.shape[1]):
            spread = np.ptp(reference[:, i])
            if spread == 0.0:
                assert np.ptp(values[:, i]) == 0.0 and values[0, i] == pytest.approx(reference[0, i]), (name, i)
            else:
                assert ks_2samp(values[:, i], reference[:, i]).pvalue > SIGNIFICANCE / count, (name, i)


@pytest.mark.parametrize("id", sample(["BallInCupCatch-v1", "HumanoidStand-v1", "QuadrupedWalk-v1"], 1))
def test_initial_states_have_no_contacts(id):
    domain, task = TASKS[id]
    simulation = wl.Simulation(id, num_worlds=50, seed=2)
    robot = simulation[next(iter(simulation.definition.rows))]
    physics = suite.load(domain, task).physics
    for qpos in robot.qpos.numpy().reshape(50, -1):
        physics.data.qpos[:] = qpos
        physics.after_reset()
        assert physics.data.ncon == 0
