# Annotations are evaluated: systems refer to classes that are local to a function.
"""Manipulator: an arm brings a ball or a peg to a random target, or inserts it into a cup or a slot there."""

from dataclasses import dataclass

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import velocity_address
from worldloom.envs.dm_suite.arms.arm import (
    CONTROL_TIMESTEP,
    NUM_JOINTS,
    NUM_TOUCH_SENSORS,
    check_arm,
    observe_arm_system,
)
from worldloom.envs.dm_suite.arms.manipulator_placement import manipulator_reset
from worldloom.envs.dm_suite.geometry import distance
from worldloom.envs.dm_suite.observations import numbers
from worldloom.envs.dm_suite.task import define_task, load_model, robot_of, suite_physics
from worldloom.envs.dm_suite.tolerance import excess, gaussian
from worldloom.robots import Model, PlacementState

CLOSE = wl.float64(0.01)


@dataclass(frozen=True)
class Props:
    """The bodies of a task.

    Attributes:
        prop: The body that the arm moves, whose site has the same name.
        receptacle: The body at the target that it is inserted into; empty where it is only brought there.
    """

    prop: str
    receptacle: str = ""

    @property
    def target(self) -> str:
        """The body that marks the target, whose site has the same name."""
        return f"target_{self.prop}"


PROPS = {
    "bring_ball": Props("ball"),
    "bring_peg": Props("peg"),
    "insert_ball": Props("ball", "cup"),
    "insert_peg": Props("peg", "slot"),
}


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    props = PROPS[task]
    peg, insert = props.prop == "peg", props.receptacle != ""
    model = load_model(model_file, "manipulator", lambda module: module.make_model(peg, insert))
    check_arm(model)
    kind = _kind(model)
    physics = suite_physics(model, kind, CONTROL_TIMESTEP)
    return define_task(
        id,
        physics,
        reset=manipulator_reset(physics, props.prop, props.target, props.receptacle),
        reward=[_peg_system(kind, model) if peg else _ball_system(kind, model)],
        observe=[observe_arm_system(kind, model), _observe_system(kind, model, props)],
        doc=__doc__,
    )


def _kind(model: Model) -> type[wl.Entity]:
    class Manipulator(
        wl.Entity, robot_of(model, "body_pos", "body_quat", "xpos", "xquat", "site_xpos", "sensordata"), PlacementState
    ):
        arm_pos: numbers(NUM_JOINTS, 2)
        arm_vel: numbers(NUM_JOINTS)
        touch: numbers(NUM_TOUCH_SENSORS)
        hand_pos: numbers(4)
        object_pos: numbers(4)
        object_vel: numbers(3)
        target_pos: numbers(4)
        reward: wl.Reward(wl.float64)

    return Manipulator


@wl.function
def closeness(x: wl.float64, y: wl.float64, z: wl.float64) -> wl.float64:
    """1 where two sites are close, given the vector between them."""
    return gaussian(excess(distance(x, y, z), 0.0, CLOSE, 2.0 * CLOSE), 0.1)


def _ball_system(kind: type[wl.Entity], model: Model) -> System:
    ball, target = model.id("site", "ball"), model.id("site", "target_ball")

    @wl.system
    def reward_ball(robot: kind):
        x = robot.site_xpos[ball, 0] - robot.site_xpos[target, 0]
        y = robot.site_xpos[ball, 1] - robot.site_xpos[target, 1]
        z = robot.site_xpos[ball, 2] - robot.site_xpos[target, 2]
        robot.reward = closeness(x, y, z)

    return reward_ball


def _peg_system(kind: type[wl.Entity], model: Model) -> System:
    first = wl.vec4i(*(model.id("site", name) for name in ("peg_grasp", "peg_pinch", "peg", "peg_tip")))
    second = wl.vec4i(*(model.id("site", name) for name in ("grasp", "pinch", "target_peg", "target_peg_tip")))

    @wl.system
    def reward_peg(robot: kind):
        grasping, bringing = wl.float64(0.0), wl.float64(0.0)
        for k in range(4):
            x = robot.site_xpos[first[k], 0] - robot.site_xpos[second[k], 0]
            y = robot.site_xpos[first[k], 1] - robot.site_xpos[second[k], 1]
            z = robot.site_xpos[first[k], 2] - robot.site_xpos[second[k], 2]
            if k < 2:
                grasping += closeness(x, y, z) / 2.0
            else:
                bringing += closeness(x, y, z) / 2.0
        robot.reward = max(bringing, grasping / 3.0)

    return reward_peg


def _observe_system(kind: type[wl.Entity], model: Model, props: Props) -> System:
    body, target = model.body(props.prop), model.body(props.target)
    x, z, y = (velocity_address(model, f"{props.prop}_{axis}") for axis in "xzy")

    @wl.system
    def observe_prop(robot: kind):
        robot.object_pos[0] = robot.xpos[body, 0]
        robot.object_pos[1] = robot.xpos[body, 2]
        robot.object_pos[2] = robot.xquat[body, 0]
        robot.object_pos[3] = robot.xquat[body, 2]
        robot.object_vel[0] = robot.qvel[x]
        robot.object_vel[1] = robot.qvel[z]
        robot.object_vel[2] = robot.qvel[y]
        robot.target_pos[0] = robot.xpos[target, 0]
        robot.target_pos[1] = robot.xpos[target, 2]
        robot.target_pos[2] = robot.xquat[target, 0]
        robot.target_pos[3] = robot.xquat[target, 2]

    return observe_prop
