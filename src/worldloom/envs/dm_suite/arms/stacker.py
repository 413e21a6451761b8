# Annotations are evaluated: systems refer to classes that are local to a function.
"""Stacker: an arm stacks two or four boxes to a random height."""

import math

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import joint_address, velocity_address
from worldloom.envs.dm_suite.arms.arm import (
    CONTROL_TIMESTEP,
    NUM_JOINTS,
    NUM_TOUCH_SENSORS,
    arm_draws,
    check_arm,
    observe_arm_system,
)
from worldloom.envs.dm_suite.geometry import distance
from worldloom.envs.dm_suite.observations import numbers
from worldloom.envs.dm_suite.task import SuiteWorld, define_task, load_model, robot_of, suite_physics
from worldloom.envs.dm_suite.tolerance import INFINITY, excess, gaussian
from worldloom.robots import Draw, DrawKind, Model, Placement, PlacementState

BOXES = {"stack_2": 2, "stack_4": 4}
CLOSE = wl.float64(0.01)


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    boxes = BOXES[task]
    model = load_model(model_file, "stacker", lambda module: module.make_model(boxes))
    check_arm(model)

    class Stacker(
        wl.Entity,
        robot_of(model, "xpos", "xquat", "site_xpos", "sensordata", goal=wl.Array(wl.float64, 2)),
        PlacementState,
    ):
        arm_pos: numbers(NUM_JOINTS, 2)
        arm_vel: numbers(NUM_JOINTS)
        touch: numbers(NUM_TOUCH_SENSORS)
        hand_pos: numbers(4)
        box_pos: numbers(boxes, 4)
        box_vel: numbers(3 * boxes)
        target_pos: numbers(2)
        reward: wl.Reward(wl.float64)

    physics = suite_physics(model, Stacker, CONTROL_TIMESTEP)
    draws = [*arm_draws(model), *_box_draws(model, boxes)]
    return define_task(
        id,
        physics,
        reset=[*Placement(physics, draws, free_of_contacts=True).reset, _goal_system(Stacker, model, boxes)],
        reward=[_reward_system(Stacker, model, boxes)],
        observe=[observe_arm_system(Stacker, model), _observe_system(Stacker, model, boxes)],
        doc=__doc__,
        goal=("body", (0, 2)),
    )


def _box_draws(model: Model, boxes: int) -> list[Draw]:
    bounds = {"x": (0.1, 0.3), "z": (0.0, 0.7), "y": (0.0, 2.0 * math.pi)}
    return [
        Draw(DrawKind.UNIFORM, joint_address(model, f"box{box}_{axis}"), *bounds[axis])
        for box in range(boxes)
        for axis in bounds
    ]


def _goal_system(kind: type[wl.Entity], model: Model, boxes: int) -> System:
    size = wl.float64(model.mj_model.geom_size[model.id("geom", "target"), 0])

    @wl.system
    def place_goal(robot: kind, world: SuiteWorld):
        robot.goal[0] = world.random(-0.37, 0.37)
        robot.goal[1] = size * wl.float64(2 * world.integer(boxes) + 1)

    return place_goal


def _reward_system(kind: type[wl.Entity], model: Model, boxes: int) -> System:
    first, grasp = model.id("site", "box0"), model.id("site", "grasp")
    size = wl.float64(model.mj_model.geom_size[model.id("geom", "target"), 0])
    depth = wl.float64(model.mj_model.body_pos[model.body("target"), 1])

    @wl.system
    def reward(robot: kind):
        nearest = INFINITY
        for box in range(boxes):
            x, y = robot.site_xpos[first + box, 0] - robot.goal[0], robot.site_xpos[first + box, 1] - depth
            nearest = min(nearest, distance(x, y, robot.site_xpos[first + box, 2] - robot.goal[1]))
        hand = distance(
            robot.site_xpos[grasp, 0] - robot.goal[0],
            robot.site_xpos[grasp, 1] - depth,
            robot.site_xpos[grasp, 2] - robot.goal[1],
        )
        box_is_close = gaussian(excess(nearest, 0.0, 0.0, 2.0 * size), 0.1)
        hand_is_far = gaussian(excess(hand, 0.1, INFINITY, CLOSE), 0.1)
        robot.reward = box_is_close * hand_is_far

    return reward


def _observe_system(kind: type[wl.Entity], model: Model, boxes: int) -> System:
    body, x, y, z = model.body("box0"), *(velocity_address(model, f"box0_{axis}") for axis in "xyz")

    @wl.system
    def observe_boxes(robot: kind):
        for box in range(boxes):
            robot.box_pos[box, 0] = robot.xpos[body + box, 0]
            robot.box_pos[box, 1] = robot.xpos[body + box, 2]
            robot.box_pos[box, 2] = robot.xquat[body + box, 0]
            robot.box_pos[box, 3] = robot.xquat[body + box, 2]
            robot.box_vel[3 * box] = robot.qvel[x + 3 * box]
            robot.box_vel[3 * box + 1] = robot.qvel[y + 3 * box]
            robot.box_vel[3 * box + 2] = robot.qvel[z + 3 * box]
        for i in range(2):
            robot.target_pos[i] = robot.goal[i]

    return observe_boxes
