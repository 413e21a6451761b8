# Annotations are evaluated: systems refer to classes that are local to a function.
"""Reacher: a planar arm with two links reaches a random target."""

import math

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.observations import numbers, observe_position_system, observe_velocity_system
from worldloom.envs.dm_suite.task import SuiteWorld, default_model, define_task, robot_of, suite_physics
from worldloom.envs.dm_suite.tolerance import within
from worldloom.robots import Model, Placement, PlacementState, limited_and_rotational

TARGET_SIZES = {"easy": 0.05, "hard": 0.015}
_TURN = wl.float64(2.0 * math.pi)


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    model = default_model(model_file, "reacher")

    class Reacher(wl.Entity, robot_of(model, "geom_xpos", goal=wl.Array(wl.float64, 2)), PlacementState):
        position: numbers(model.nq)
        to_target: numbers(2)
        velocity: numbers(model.nv)
        reward: wl.Reward(wl.float64)

    physics = suite_physics(model, Reacher)
    return define_task(
        id,
        physics,
        reset=[*Placement(physics, limited_and_rotational(model)).reset, _goal_system(Reacher)],
        reward=[_reward_system(Reacher, model, TARGET_SIZES[task])],
        observe=[
            observe_position_system(Reacher, model),
            _observe_system(Reacher, model),
            observe_velocity_system(Reacher, model),
        ],
        doc=__doc__,
        goal=("geom", (0, 1)),
    )


def _goal_system(kind: type[wl.Entity]) -> System:
    @wl.system
    def place_goal(arm: kind, world: SuiteWorld):
        angle = _TURN * world.random()
        radius = wl.float64(world.random(0.05, 0.2))
        arm.goal[0] = radius * wl.sin(angle)
        arm.goal[1] = radius * wl.cos(angle)

    return place_goal


def _reward_system(kind: type[wl.Entity], model: Model, target_size: float) -> System:
    finger = model.id("geom", "finger")
    radii = wl.float64(target_size + model.mj_model.geom_size[finger, 0])

    @wl.system
    def reward(arm: kind):
        x = arm.goal[0] - arm.geom_xpos[finger, 0]
        y = arm.goal[1] - arm.geom_xpos[finger, 1]
        arm.reward = within(wl.sqrt(x * x + y * y), 0.0, radii)

    return reward


def _observe_system(kind: type[wl.Entity], model: Model) -> System:
    finger = model.id("geom", "finger")

    @wl.system
    def observe_target(arm: kind):
        for i in range(2):
            arm.to_target[i] = arm.goal[i] - arm.geom_xpos[finger, i]

    return observe_target
