# Annotations are evaluated: systems refer to classes that are parameters.
"""What the tasks of the dog share: initial states, the reward for standing, and observations."""

import math
from typing import Any

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components
from worldloom.envs.dm_suite.addresses import ZX, ZZ, sensor_address
from worldloom.envs.dm_suite.observations import numbers
from worldloom.envs.dm_suite.task import SuiteWorld, robot_of
from worldloom.envs.dm_suite.tolerance import INFINITY, excess, gaussian, linear
from worldloom.robots import Model

NUM_HINGES = 73
ROOT_POSITIONS, ROOT_VELOCITIES = 7, 6
STAND_HEIGHT_FRACTION = 0.9
"""Fraction of the heights of the default pose from which on the dog stands."""
MIN_UPRIGHT = wl.float64(math.cos(math.radians(30)))
_TURN = wl.float64(2.0 * math.pi)


def dog_of(model: Model, *arrays: str) -> type[Components]:
    """The components of a dog: those of every robot, with ``arrays`` of physics, and the shared observations.

    ``standing`` is the reward for standing.
    """

    class Body(robot_of(model, *arrays, "sensordata", standing=wl.float64)):
        joint_angles: numbers(NUM_HINGES)
        joint_velocites: numbers(NUM_HINGES)
        torso_pelvis_height: numbers(2)
        z_projection: numbers(9)
        torso_com_velocity: numbers(3)
        inertial_sensors: numbers(9)
        foot_forces: numbers(12)
        touch_sensors: numbers(4)
        actuator_state: numbers(model.na)

    return Body


def place_system(kind: type[wl.Entity], model: Model) -> System:
    """Turns the dog around z, with random velocities in the plane and random states of the actuators."""
    ranges, na = model.mj_model.actuator_ctrlrange, model.na
    low, high = (float(bound) for bound in ranges[0])
    if model.nu != na or not (ranges == ranges[0]).all():
        raise InputError("the actuators of the dog are not dm_control's: use dm_control's model")

    @wl.system
    def place(dog: kind, world: SuiteWorld):
        azimuth = _TURN * world.random()
        dog.qpos[3] = wl.cos(azimuth / 2.0)
        dog.qpos[4] = 0.0
        dog.qpos[5] = 0.0
        dog.qpos[6] = wl.sin(azimuth / 2.0)
        dog.qvel[0] = world.normal(0.0, 2.0)
        dog.qvel[1] = world.normal(0.0, 2.0)
        dog.qvel[5] = world.normal(0.0, 2.0)
        for i in range(na):
            dog.act[i] = world.random(low, high)

    return place


def stand_system(kind: type[wl.Entity], model: Model) -> System:
    """Writes ``standing``: the product of the factors for height, orientation and load of the feet."""
    skull, torso, pelvis = (model.body(name) for name in ("skull", "torso", "pelvis"))
    heights = STAND_HEIGHT_FRACTION * _default_heights(model)
    torso_height, pelvis_height = wl.float64(heights[torso]), wl.float64(heights[pelvis])
    gravity = -float(model.mj_model.opt.gravity[2])
    weight = wl.float64(gravity * float(model.mj_model.body_subtreemass[torso]))
    touch = sensor_address(model, "palm_L")

    @wl.system
    def stand(dog: kind):
        load = wl.float64(0.0)
        for i in range(4):
            load += dog.sensordata[touch + i]
        dog.standing = (
            gaussian(excess(dog.xpos[torso, 2], torso_height, INFINITY, torso_height), 0.1)
            * gaussian(excess(dog.xpos[pelvis, 2], pelvis_height, INFINITY, pelvis_height), 0.1)
            * linear(excess(dog.xmat[skull, ZZ], MIN_UPRIGHT, INFINITY, MIN_UPRIGHT + 1.0), 0.0)
            * linear(excess(dog.xmat[torso, ZZ], MIN_UPRIGHT, INFINITY, MIN_UPRIGHT + 1.0), 0.0)
            * linear(excess(dog.xmat[pelvis, ZZ], MIN_UPRIGHT, INFINITY, MIN_UPRIGHT + 1.0), 0.0)
            * linear(excess(load, weight, INFINITY, weight), 0.9)
        )

    return stand


def product_system(kind: type[wl.Entity]) -> System:
    """Makes ``standing`` the reward."""

    @wl.system
    def reward_standing(dog: kind):
        dog.reward = dog.standing

    return reward_standing


def _default_heights(model: Model) -> Any:
    """The height of each body in the default pose."""
    data = model.mujoco.MjData(model.mj_model)
    model.mujoco.mj_forward(model.mj_model, data)
    return data.xpos[:, 2].copy()


def observe_systems(kind: type[wl.Entity], model: Model) -> list[System]:
    """Systems that write the observations that all tasks share."""
    return [
        _observe_joints_system(kind, model),
        _observe_pose_system(kind, model),
        _observe_sensors_system(kind, model),
    ]


def _observe_joints_system(kind: type[wl.Entity], model: Model) -> System:
    na = model.na

    @wl.system
    def observe_joints(dog: kind):
        for i in range(NUM_HINGES):
            dog.joint_angles[i] = dog.qpos[ROOT_POSITIONS + i]
            dog.joint_velocites[i] = dog.qvel[ROOT_VELOCITIES + i]
        for i in range(na):
            dog.actuator_state[i] = dog.act[i]

    return observe_joints


def _observe_pose_system(kind: type[wl.Entity], model: Model) -> System:
    skull, torso, pelvis = (model.body(name) for name in ("skull", "torso", "pelvis"))
    velocity = sensor_address(model, "torso_linvel")

    @wl.system
    def observe_pose(dog: kind):
        dog.torso_pelvis_height[0] = dog.xpos[torso, 2]
        dog.torso_pelvis_height[1] = dog.xpos[pelvis, 2]
        for axis in range(3):
            dog.z_projection[axis] = dog.xmat[skull, ZX + axis]
            dog.z_projection[3 + axis] = dog.xmat[torso, ZX + axis]
            dog.z_projection[6 + axis] = dog.xmat[pelvis, ZX + axis]
            sum = wl.float64(0.0)
            for i in range(3):
                sum += dog.sensordata[velocity + i] * dog.xmat[torso, 3 * i + axis]
            dog.torso_com_velocity[axis] = sum

    return observe_pose


def _observe_sensors_system(kind: type[wl.Entity], model: Model) -> System:
    inertial, force, touch = (sensor_address(model, name) for name in ("accelerometer", "foot_L", "palm_L"))

    @wl.system
    def observe_sensors(dog: kind):
        for i in range(9):
            dog.inertial_sensors[i] = dog.sensordata[inertial + i]
        for i in range(12):
            dog.foot_forces[i] = dog.sensordata[force + i]
        for i in range(4):
            dog.touch_sensors[i] = dog.sensordata[touch + i]

    return observe_sensors
