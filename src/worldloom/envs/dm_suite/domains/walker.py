# Annotations are evaluated: systems refer to classes that are local to a function.
"""Walker: a planar robot with two legs stands, walks or runs."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import XX, XZ, ZZ, sensor_address
from worldloom.envs.dm_suite.observations import numbers, observe_velocity_system
from worldloom.envs.dm_suite.task import default_model, define_task, robot_of, suite_physics
from worldloom.envs.dm_suite.tolerance import INFINITY, excess, gaussian, linear
from worldloom.robots import Model, Placement, PlacementState, limited_and_rotational

CONTROL_TIMESTEP = 0.025
STAND_HEIGHT = wl.float64(1.2)
SPEEDS = {"stand": 0.0, "walk": 1.0, "run": 8.0}


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    model = default_model(model_file, "walker")

    class Walker(wl.Entity, robot_of(model, "xpos", "xmat", "sensordata"), PlacementState):
        orientations: numbers(2 * (model.nbody - 1))
        height: numbers()
        velocity: numbers(model.nv)
        reward: wl.Reward(wl.float64)

    physics = suite_physics(model, Walker, CONTROL_TIMESTEP)
    reset = Placement(physics, limited_and_rotational(model)).reset
    reward = [_reward_system(Walker, model, SPEEDS[task])]
    observe = [_observe_system(Walker, model), observe_velocity_system(Walker, model)]
    return define_task(id, physics, reset=reset, reward=reward, observe=observe, doc=__doc__)


def _reward_system(kind: type[wl.Entity], model: Model, target_speed: float) -> System:
    torso, velocity = model.body("torso"), sensor_address(model, "torso_subtreelinvel")
    moves, speed, margin = target_speed > 0.0, wl.float64(target_speed), wl.float64(target_speed / 2)

    @wl.system
    def reward(walker: kind):
        standing = gaussian(excess(walker.xpos[torso, 2], STAND_HEIGHT, INFINITY, STAND_HEIGHT / 2.0), 0.1)
        upright = (1.0 + walker.xmat[torso, ZZ]) / 2.0
        walker.reward = (3.0 * standing + upright) / 4.0
        if moves:
            move = linear(excess(walker.sensordata[velocity], speed, INFINITY, margin), 0.5)
            walker.reward = walker.reward * (5.0 * move + 1.0) / 6.0

    return reward


def _observe_system(kind: type[wl.Entity], model: Model) -> System:
    torso, bodies = model.body("torso"), model.nbody

    @wl.system
    def observe(walker: kind):
        walker.height = walker.xpos[torso, 2]
        for body in range(1, bodies):
            walker.orientations[2 * (body - 1)] = walker.xmat[body, XX]
            walker.orientations[2 * (body - 1) + 1] = walker.xmat[body, XZ]

    return observe
