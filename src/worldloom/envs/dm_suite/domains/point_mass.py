# Annotations are evaluated: systems refer to classes that are local to a function.
"""Point mass: a mass moves to the centre of the plane. In the hard task, each control has a random direction."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.observations import numbers, observe_position_system, observe_velocity_system
from worldloom.envs.dm_suite.task import SuiteWorld, default_model, define_task, robot_of, suite_physics
from worldloom.envs.dm_suite.tolerance import excess, gaussian, quadratic
from worldloom.robots import Model, Placement, PlacementState, limited_and_rotational

MAX_COSINE = wl.float64(0.9)
"""Largest cosine of the angle between the directions of both controls."""


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    model = default_model(model_file, "point_mass")

    class PointMass(wl.Entity, robot_of(model, "wrap_prm", "geom_xpos"), PlacementState):
        position: numbers(model.nq)
        velocity: numbers(model.nv)
        reward: wl.Reward(wl.float64)

    physics = suite_physics(model, PointMass)
    turned = [_directions_system(PointMass)] if task == "hard" else []
    return define_task(
        id,
        physics,
        reset=[*Placement(physics, limited_and_rotational(model)).reset, *turned],
        reward=[_reward_system(PointMass, model)],
        observe=[observe_position_system(PointMass, model), observe_velocity_system(PointMass, model)],
        doc=__doc__,
    )


def _directions_system(kind: type[wl.Entity]) -> System:
    @wl.system
    def draw_directions(point: kind, world: SuiteWorld):
        x, y = wl.float64(world.normal()), wl.float64(world.normal())
        length = wl.sqrt(x * x + y * y)
        point.wrap_prm[0] = x / length
        point.wrap_prm[1] = y / length
        cosine = wl.float64(1.0)
        while abs(cosine) > MAX_COSINE:
            x = world.normal()
            y = world.normal()
            length = wl.sqrt(x * x + y * y)
            point.wrap_prm[2] = x / length
            point.wrap_prm[3] = y / length
            cosine = point.wrap_prm[0] * point.wrap_prm[2] + point.wrap_prm[1] * point.wrap_prm[3]

    return draw_directions


def _reward_system(kind: type[wl.Entity], model: Model) -> System:
    target, mass, nu = model.id("geom", "target"), model.id("geom", "pointmass"), model.nu
    size, count = wl.float64(model.mj_model.geom_size[target, 0]), wl.float64(nu)

    @wl.system
    def reward(point: kind):
        squares = wl.float64(0.0)
        for i in range(3):
            distance = point.geom_xpos[target, i] - point.geom_xpos[mass, i]
            squares += distance * distance
        small_control = wl.float64(0.0)
        for i in range(nu):
            small_control += quadratic(excess(point.ctrl[i], 0.0, 0.0, 1.0), 0.0)
        near_target = gaussian(excess(wl.sqrt(squares), 0.0, size, size), 0.1)
        point.reward = near_target * ((small_control / count + 4.0) / 5.0)

    return reward
