# Annotations are evaluated: systems refer to classes that are local to a function.
"""Humanoid: a robot with 21 joints stands, walks or runs."""

from collections.abc import Sequence
from dataclasses import dataclass

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import ZX, ZY, ZZ, sensor_address
from worldloom.envs.dm_suite.observations import numbers, observe_position_system, observe_velocity_system
from worldloom.envs.dm_suite.task import default_model, define_task, robot_of, suite_physics
from worldloom.envs.dm_suite.tolerance import INFINITY, excess, gaussian, linear, quadratic
from worldloom.robots import Model, Physics, Placement, PlacementState, limited_and_rotational

STAND_HEIGHT = wl.float64(1.4)
SPEEDS = {"stand": 0.0, "walk": 1.0, "run": 10.0, "run_pure_state": 10.0}
ROOT = 7
"""Positions of the free joint."""


@dataclass(frozen=True)
class Anatomy:
    """Names of the parts of a humanoid model.

    Attributes:
        torso: The body whose frame is the robot's.
        up: The column of its ``xmat`` that is 1 where it is upright.
        velocity: The sensor of the velocity of the centre of mass.
        limbs: Left hand, left foot, right hand, right foot.
        control_timestep: Seconds per step.
    """

    torso: str
    up: int
    velocity: str
    limbs: tuple[str, str, str, str]
    control_timestep: float


HUMANOID = Anatomy("torso", ZZ, "torso_subtreelinvel", ("left_hand", "left_foot", "right_hand", "right_foot"), 0.025)


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    model = default_model(model_file, "humanoid")
    if task == "run_pure_state":
        return _define_pure_state(id, model, SPEEDS[task])
    return define_humanoid(id, model, HUMANOID, SPEEDS[task], __doc__)


def define_humanoid(id: str, model: Model, anatomy: Anatomy, speed: float, doc: str | None) -> Definition:
    """A task of a humanoid model that moves at ``speed``, in metres per second; 0 to stand."""

    class Humanoid(wl.Entity, robot_of(model, "xpos", "xmat", "sensordata"), PlacementState):
        joint_angles: numbers(model.nq - ROOT)
        head_height: numbers()
        extremities: numbers(12)
        torso_vertical: numbers(3)
        com_velocity: numbers(3)
        velocity: numbers(model.nv)
        reward: wl.Reward(wl.float64)

    observe = [
        _observe_system(Humanoid, model, anatomy),
        _observe_limbs_system(Humanoid, model, anatomy),
        observe_velocity_system(Humanoid, model),
    ]
    return _assemble(id, suite_physics(model, Humanoid, anatomy.control_timestep), anatomy, speed, observe, doc)


def _define_pure_state(id: str, model: Model, speed: float) -> Definition:
    class Humanoid(wl.Entity, robot_of(model, "xpos", "xmat", "sensordata"), PlacementState):
        position: numbers(model.nq)
        velocity: numbers(model.nv)
        reward: wl.Reward(wl.float64)

    physics = suite_physics(model, Humanoid, HUMANOID.control_timestep)
    observe = [observe_position_system(Humanoid, model), observe_velocity_system(Humanoid, model)]
    return _assemble(id, physics, HUMANOID, speed, observe, __doc__)


def _assemble(
    id: str, physics: Physics, anatomy: Anatomy, speed: float, observe: Sequence[System], doc: str
) -> Definition:
    model = physics.model
    return define_task(
        id,
        physics,
        reset=Placement(physics, limited_and_rotational(model), free_of_contacts=True).reset,
        reward=[_reward_system(physics.kind, model, anatomy, speed)],
        observe=observe,
        doc=doc,
    )


def _reward_system(kind: type[wl.Entity], model: Model, anatomy: Anatomy, target_speed: float) -> System:
    head, torso, up = model.body("head"), model.body(anatomy.torso), anatomy.up
    velocity, nu, count = sensor_address(model, anatomy.velocity), model.nu, wl.float64(model.nu)
    moves, speed = target_speed > 0.0, wl.float64(target_speed)

    @wl.system
    def reward(robot: kind):
        standing = gaussian(excess(robot.xpos[head, 2], STAND_HEIGHT, INFINITY, STAND_HEIGHT / 4.0), 0.1)
        upright = linear(excess(robot.xmat[torso, up], 0.9, INFINITY, 1.9), 0.0)
        small_control = wl.float64(0.0)
        for i in range(nu):
            small_control += quadratic(excess(robot.ctrl[i], 0.0, 0.0, 1.0), 0.0)
        small_control = (4.0 + small_control / count) / 5.0
        x, y = robot.sensordata[velocity], robot.sensordata[velocity + 1]
        if moves:
            move = linear(excess(wl.sqrt(x * x + y * y), speed, INFINITY, speed), 0.0)
            robot.reward = small_control * (standing * upright) * ((5.0 * move + 1.0) / 6.0)
        else:
            still = (gaussian(excess(x, 0.0, 0.0, 2.0), 0.1) + gaussian(excess(y, 0.0, 0.0, 2.0), 0.1)) / 2.0
            robot.reward = small_control * (standing * upright) * still

    return reward


def _observe_system(kind: type[wl.Entity], model: Model, anatomy: Anatomy) -> System:
    head, torso, num_joints = model.body("head"), model.body(anatomy.torso), model.nq - ROOT
    velocity = sensor_address(model, anatomy.velocity)

    @wl.system
    def observe(robot: kind):
        for i in range(num_joints):
            robot.joint_angles[i] = robot.qpos[ROOT + i]
        robot.head_height = robot.xpos[head, 2]
        robot.torso_vertical[0] = robot.xmat[torso, ZX]
        robot.torso_vertical[1] = robot.xmat[torso, ZY]
        robot.torso_vertical[2] = robot.xmat[torso, ZZ]
        for i in range(3):
            robot.com_velocity[i] = robot.sensordata[velocity + i]

    return observe


def _observe_limbs_system(kind: type[wl.Entity], model: Model, anatomy: Anatomy) -> System:
    torso = model.body(anatomy.torso)
    limbs = wl.vec4i(*(model.body(limb) for limb in anatomy.limbs))

    @wl.system
    def observe_limbs(robot: kind):
        for limb in range(4):
            for axis in range(3):
                sum = wl.float64(0.0)
                for i in range(3):
                    sum += (robot.xpos[limbs[limb], i] - robot.xpos[torso, i]) * robot.xmat[torso, 3 * i + axis]
                robot.extremities[3 * limb + axis] = sum

    return observe_limbs
