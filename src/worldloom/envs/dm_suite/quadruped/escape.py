# Annotations are evaluated: systems refer to classes that are local to a function.
"""The quadruped's task to climb out of a bowl with random bumps."""

import math

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import ZZ, sensor_address
from worldloom.envs.dm_suite.observations import numbers
from worldloom.envs.dm_suite.quadruped.observations import observe_systems, quadruped_of
from worldloom.envs.dm_suite.quadruped.terrain import terrain_of, terrain_systems, terrain_world
from worldloom.envs.dm_suite.task import define_task, suite_physics
from worldloom.envs.dm_suite.tolerance import INFINITY, excess, linear
from worldloom.robots import Draw, DrawKind, Model, Placement, PlacementState

NUM_RANGEFINDERS = 20
UPRIGHT = wl.float64(math.cos(math.radians(20)))


def define_escape(id: str, model: Model, control_timestep: float, doc: str | None) -> Definition:
    """The world of the task."""

    class Quadruped(wl.Entity, quadruped_of(model, "xpos", "xmat", "site_xpos"), terrain_of(model), PlacementState):
        origin: numbers(3)
        rangefinder: numbers(NUM_RANGEFINDERS)
        reward: wl.Reward(wl.float64)

    physics = suite_physics(model, Quadruped, control_timestep)
    draws = [Draw(DrawKind.QUATERNION, 3, repeated=False), Draw(DrawKind.CLIMB, 2, 0.0, 0.01)]
    world = terrain_world(model)
    return define_task(
        id,
        physics,
        reset=[
            *terrain_systems(Quadruped, world, model),
            *Placement(physics, draws, free_of_contacts=True).reset,
        ],
        reward=[_reward_system(Quadruped, model)],
        observe=[*observe_systems(Quadruped, model), _observe_system(Quadruped, model)],
        doc=doc,
        world=world,
    )


def _reward_system(kind: type[wl.Entity], model: Model) -> System:
    torso, workspace = model.body("torso"), model.id("site", "workspace")
    size = wl.float64(model.mj_model.hfield_size[0, 0])

    @wl.system
    def reward_escape(robot: kind):
        squares = wl.float64(0.0)
        for i in range(3):
            squares += robot.site_xpos[workspace, i] * robot.site_xpos[workspace, i]
        upright = linear(excess(robot.xmat[torso, ZZ], UPRIGHT, INFINITY, 1.0 + UPRIGHT), 0.0)
        robot.reward = upright * linear(excess(wl.sqrt(squares), size, INFINITY, size), 0.0)

    return reward_escape


def _observe_system(kind: type[wl.Entity], model: Model) -> System:
    torso, rangefinders = model.body("torso"), sensor_address(model, "rf_00")

    @wl.system
    def observe_terrain(robot: kind):
        for axis in range(3):
            sum = wl.float64(0.0)
            for i in range(3):
                sum -= robot.xpos[torso, i] * robot.xmat[torso, 3 * i + axis]
            robot.origin[axis] = sum
        for i in range(NUM_RANGEFINDERS):
            reading = robot.sensordata[rangefinders + i]
            robot.rangefinder[i] = wl.float64(1.0) if reading == -1.0 else wl.tanh(reading)

    return observe_terrain
