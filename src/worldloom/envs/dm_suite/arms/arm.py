# Annotations are evaluated: systems refer to classes that are parameters.
"""The planar arm with a hand of the manipulator and the stacker: its joints, and observations of it."""

import math

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.frontend.system import System
from worldloom.envs.dm_suite.addresses import joint_address, sensor_address
from worldloom.envs.dm_suite.tolerance import log1p
from worldloom.robots import Draw, DrawKind, Model

CONTROL_TIMESTEP = 0.01
JOINTS = ("arm_root", "arm_shoulder", "arm_elbow", "arm_wrist", "finger", "fingertip", "thumb", "thumbtip")
"""Joints in the order of observations. In ``qpos`` the thumb comes before the finger."""
NUM_JOINTS = len(JOINTS)
NUM_TOUCH_SENSORS = 5


@wl.function
def arm_address(k: int) -> int:
    """The index in ``qpos`` of joint ``k`` of :data:`JOINTS`."""
    return k if k < 4 else 4 + (k + 2) % 4


def check_arm(model: Model) -> None:
    """InputError where the joints of the arm are not in dm_control's order."""
    if [joint_address(model, name) for name in JOINTS] != [0, 1, 2, 3, 6, 7, 4, 5]:
        raise InputError("the joints of the arm are not in dm_control's order: use dm_control's model")


def arm_draws(model: Model) -> list[Draw]:
    """Joints uniform within their range, or from -π to π; the finger mirrors the thumb."""
    draws = []
    for name in JOINTS:
        joint = model.id("joint", name)
        limited = bool(model.mj_model.jnt_limited[joint])
        low, high = (float(b) for b in model.mj_model.jnt_range[joint]) if limited else (-math.pi, math.pi)
        draws.append(Draw(DrawKind.UNIFORM, joint_address(model, name), low, high))
    thumb = float(joint_address(model, "thumb"))
    return [*draws, Draw(DrawKind.COPY, joint_address(model, "finger"), thumb)]


def observe_arm_system(kind: type[wl.Entity], model: Model) -> System:
    """Writes ``arm_pos``, ``arm_vel``, ``touch`` and ``hand_pos``."""
    hand, palm = model.body("hand"), sensor_address(model, "palm_touch")

    @wl.system
    def observe_arm(robot: kind):
        for k in range(NUM_JOINTS):
            robot.arm_pos[k, 0] = wl.sin(robot.qpos[arm_address(k)])
            robot.arm_pos[k, 1] = wl.cos(robot.qpos[arm_address(k)])
            robot.arm_vel[k] = robot.qvel[arm_address(k)]
        for i in range(NUM_TOUCH_SENSORS):
            robot.touch[i] = log1p(robot.sensordata[palm + i])
        robot.hand_pos[0] = robot.xpos[hand, 0]
        robot.hand_pos[1] = robot.xpos[hand, 2]
        robot.hand_pos[2] = robot.xquat[hand, 0]
        robot.hand_pos[3] = robot.xquat[hand, 2]

    return observe_arm
