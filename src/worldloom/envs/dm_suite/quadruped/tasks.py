# Annotations are evaluated: systems refer to classes that are local to a function.
"""Quadruped: a robot with four legs walks, runs, escapes from a bowl, or brings a ball to a target."""

from types import ModuleType
from typing import Any

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import ZZ, sensor_address
from worldloom.envs.dm_suite.quadruped.escape import define_escape
from worldloom.envs.dm_suite.quadruped.fetch import define_fetch
from worldloom.envs.dm_suite.quadruped.observations import observe_systems, quadruped_of
from worldloom.envs.dm_suite.task import define_task, load_model, suite_physics
from worldloom.envs.dm_suite.tolerance import INFINITY, excess, linear
from worldloom.robots import Draw, DrawKind, Model, Placement, PlacementState

CONTROL_TIMESTEP = 0.02
TIME_LIMIT = 20
SPEEDS = {"walk": 0.5, "run": 5.0}


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    floor_speed = SPEEDS.get(task, 0.0)

    def build(module: ModuleType) -> tuple[Any, dict[str, Any]]:
        if task == "escape":
            return module.make_model(floor_size=40, terrain=True, rangefinders=True), module.common.ASSETS
        if task == "fetch":
            return module.make_model(walls_and_ball=True), module.common.ASSETS
        return module.make_model(floor_size=TIME_LIMIT * floor_speed), module.common.ASSETS

    model = load_model(model_file, "quadruped", build)
    if task == "fetch":
        return define_fetch(id, model, CONTROL_TIMESTEP, __doc__)
    if task == "escape":
        return define_escape(id, model, CONTROL_TIMESTEP, __doc__)

    class Quadruped(wl.Entity, quadruped_of(model, "xmat"), PlacementState):
        reward: wl.Reward(wl.float64)

    physics = suite_physics(model, Quadruped, CONTROL_TIMESTEP)
    draws = [Draw(DrawKind.QUATERNION, 3, repeated=False), Draw(DrawKind.CLIMB, 2, 0.0, 0.01)]
    return define_task(
        id,
        physics,
        reset=Placement(physics, draws, free_of_contacts=True).reset,
        reward=[_move_system(Quadruped, model, SPEEDS[task])],
        observe=observe_systems(Quadruped, model),
        doc=__doc__,
    )


def _move_system(kind: type[wl.Entity], model: Model, target_speed: float) -> System:
    torso, velocity, speed = model.body("torso"), sensor_address(model, "velocimeter"), wl.float64(target_speed)

    @wl.system
    def reward_move(robot: kind):
        move = linear(excess(robot.sensordata[velocity], speed, INFINITY, speed), 0.5)
        upright = linear(excess(robot.xmat[torso, ZZ], 1.0, INFINITY, 2.0), 0.0)
        robot.reward = upright * move

    return reward_move
