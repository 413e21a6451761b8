# Annotations are evaluated: systems refer to classes that are parameters.
"""Observations of the quadruped that all of its tasks share."""

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components
from worldloom.envs.dm_suite.addresses import ZZ, joint_address, sensor_address, velocity_address
from worldloom.envs.dm_suite.observations import numbers
from worldloom.envs.dm_suite.task import robot_of
from worldloom.envs.dm_suite.tolerance import asinh
from worldloom.robots import Model

FIRST_HINGE, LAST_HINGE = "yaw_front_left", "ankle_back_left"
NUM_HINGES = 16
NUM_FORCES = 24
"""Numbers of the force and torque sensors of four toes."""


def quadruped_of(model: Model, *arrays: str) -> type[Components]:
    """The components of a quadruped: those of every robot, with ``arrays`` of physics, and the shared observations."""

    class Body(robot_of(model, *arrays, "sensordata")):
        egocentric_state: numbers(2 * NUM_HINGES + model.na)
        torso_velocity: numbers(3)
        torso_upright: numbers()
        imu: numbers(6)
        force_torque: numbers(NUM_FORCES)

    return Body


def observe_systems(kind: type[wl.Entity], model: Model) -> list[System]:
    """Systems that write ``egocentric_state``, ``torso_velocity``, ``torso_upright``, ``imu`` and ``force_torque``."""
    first = joint_address(model, FIRST_HINGE)
    if joint_address(model, LAST_HINGE) != first + NUM_HINGES - 1:
        raise InputError("the joints of the quadruped are not in dm_control's order: use dm_control's model")
    return [_observe_joints_system(kind, model, first), _observe_sensors_system(kind, model)]


def _observe_joints_system(kind: type[wl.Entity], model: Model, position: int) -> System:
    velocity, na = velocity_address(model, FIRST_HINGE), model.na

    @wl.system
    def observe_joints(robot: kind):
        for i in range(NUM_HINGES):
            robot.egocentric_state[i] = robot.qpos[position + i]
            robot.egocentric_state[NUM_HINGES + i] = robot.qvel[velocity + i]
        for i in range(na):
            robot.egocentric_state[2 * NUM_HINGES + i] = robot.act[i]

    return observe_joints


def _observe_sensors_system(kind: type[wl.Entity], model: Model) -> System:
    torso, imu = model.body("torso"), sensor_address(model, "imu_accel")
    velocity, force = sensor_address(model, "velocimeter"), sensor_address(model, "force_toe_front_left")

    @wl.system
    def observe_sensors(robot: kind):
        for i in range(3):
            robot.torso_velocity[i] = robot.sensordata[velocity + i]
        robot.torso_upright = robot.xmat[torso, ZZ]
        for i in range(6):
            robot.imu[i] = robot.sensordata[imu + i]
        for i in range(NUM_FORCES):
            robot.force_torque[i] = asinh(robot.sensordata[force + i])

    return observe_sensors
