# Annotations are evaluated: systems refer to classes that are local to a function.
"""The quadruped's task to bring a ball to a target."""

import math

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import ZZ, joint_address, velocity_address
from worldloom.envs.dm_suite.observations import numbers
from worldloom.envs.dm_suite.quadruped.observations import observe_systems, quadruped_of
from worldloom.envs.dm_suite.task import SuiteWorld, define_task, suite_physics
from worldloom.envs.dm_suite.tolerance import INFINITY, excess, linear
from worldloom.robots import Draw, DrawKind, Model, Placement, PlacementState

BALL_HEIGHT = wl.float64(2.0)
BALL_SPEED = 5.0
_TURN = wl.float64(2.0 * math.pi)


def define_fetch(id: str, model: Model, control_timestep: float, doc: str | None) -> Definition:
    """The world of the task."""

    class Quadruped(wl.Entity, quadruped_of(model, "xpos", "xmat", "site_xpos"), PlacementState):
        ball_state: numbers(9)
        target_position: numbers(3)
        reward: wl.Reward(wl.float64)

    physics = suite_physics(model, Quadruped, control_timestep)
    lift = Placement(physics, [Draw(DrawKind.CLIMB, 2, 0.0, 0.01)], free_of_contacts=True)
    return define_task(
        id,
        physics,
        reset=[_place_system(Quadruped, model), *lift.reset, _throw_system(Quadruped, model)],
        reward=[_reward_system(Quadruped, model)],
        observe=[*observe_systems(Quadruped, model), _observe_system(Quadruped, model)],
        doc=doc,
    )


def _spawn_radius(model: Model) -> float:
    return 0.9 * float(model.mj_model.geom_size[model.id("geom", "floor"), 0])


def _place_system(kind: type[wl.Entity], model: Model) -> System:
    radius = _spawn_radius(model)

    @wl.system
    def place(robot: kind, world: SuiteWorld):
        azimuth = _TURN * world.random()
        robot.qpos[0] = world.random(-radius, radius)
        robot.qpos[1] = world.random(-radius, radius)
        robot.qpos[3] = wl.cos(azimuth / 2.0)
        robot.qpos[4] = 0.0
        robot.qpos[5] = 0.0
        robot.qpos[6] = wl.sin(azimuth / 2.0)

    return place


def _throw_system(kind: type[wl.Entity], model: Model) -> System:
    radius, ball, velocity = (
        _spawn_radius(model),
        joint_address(model, "ball_root"),
        velocity_address(model, "ball_root"),
    )

    @wl.system
    def throw_ball(robot: kind, world: SuiteWorld):
        for i in range(2):
            robot.qpos[ball + i] = world.random(-radius, radius)
            robot.qvel[velocity + i] = world.normal(0.0, BALL_SPEED)
        robot.qpos[ball + 2] = BALL_HEIGHT

    return throw_ball


@wl.function
def plane_distance(x: wl.float64, y: wl.float64) -> wl.float64:
    """The length of a vector in the plane."""
    return wl.sqrt(x * x + y * y)


def _reward_system(kind: type[wl.Entity], model: Model) -> System:
    torso, ball = model.body("torso"), model.body("ball")
    workspace, target = model.id("site", "workspace"), model.id("site", "target")
    sizes, sites = model.mj_model.geom_size, model.mj_model.site_size
    arena = wl.float64(sizes[model.id("geom", "floor"), 0] * math.sqrt(2.0))
    reach_radius = wl.float64(sites[workspace, 0] + sizes[model.id("geom", "ball"), 0])
    target_radius = wl.float64(sites[target, 0])

    @wl.system
    def reward_fetch(robot: kind):
        reach = plane_distance(
            robot.site_xpos[workspace, 0] - robot.xpos[ball, 0], robot.site_xpos[workspace, 1] - robot.xpos[ball, 1]
        )
        fetch = plane_distance(
            robot.site_xpos[target, 0] - robot.xpos[ball, 0], robot.site_xpos[target, 1] - robot.xpos[ball, 1]
        )
        upright = linear(excess(robot.xmat[torso, ZZ], 1.0, INFINITY, 2.0), 0.0)
        near_ball = linear(excess(reach, 0.0, reach_radius, arena), 0.0)
        near_target = linear(excess(fetch, 0.0, target_radius, arena), 0.0)
        robot.reward = upright * (near_ball * (0.5 + 0.5 * near_target))

    return reward_fetch


def _observe_system(kind: type[wl.Entity], model: Model) -> System:
    torso, ball, target = model.body("torso"), model.body("ball"), model.id("site", "target")
    root_velocity, ball_velocity = velocity_address(model, "root"), velocity_address(model, "ball_root")

    @wl.system
    def observe_ball(robot: kind):
        for axis in range(3):
            position, velocity, spin, goal = wl.float64(0.0), wl.float64(0.0), wl.float64(0.0), wl.float64(0.0)
            for i in range(3):
                frame = robot.xmat[torso, 3 * i + axis]
                position += (robot.xpos[ball, i] - robot.xpos[torso, i]) * frame
                velocity += (robot.qvel[ball_velocity + i] - robot.qvel[root_velocity + i]) * frame
                spin += robot.qvel[ball_velocity + 3 + i] * frame
                goal += (robot.site_xpos[target, i] - robot.xpos[torso, i]) * frame
            robot.ball_state[axis] = position
            robot.ball_state[3 + axis] = velocity
            robot.ball_state[6 + axis] = spin
            robot.target_position[axis] = goal

    return observe_ball
