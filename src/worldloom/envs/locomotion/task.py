# Annotations are evaluated: systems refer to classes that are local to a function.
"""The task that all robots share: run to a target, upright, with little effort.

The reward of a step is

    alive + speed + 0.5 heading + 0.05 standing - 4 |torque|_1 / max torque - 0.5 |action|_2^2 - 0.2 limits - feet

with the speed towards the target in m/s, ``heading`` 1 where the cosine of the angle to the target exceeds 0.8 and that
cosine / 0.8 elsewhere, ``standing`` 1 where that of the torso's tilt exceeds 0.93, ``limits`` the number of joints at
a limit and ``feet`` the number of feet on the ground. All coefficients are configuration.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.robots import Model, Physics, Pushed, push_system

ROOT = 7
"""Numbers of the root in ``qpos``: position and quaternion."""
ROOT_VELOCITY = 6
"""Numbers of the root in ``qvel``: linear velocity in the world's frame, angular velocity in the torso's."""
SUBSTEPS = 2
"""Steps of physics, 1/120 s each, per frame."""
EPISODE = 1000
"""Frames of an episode, at most."""
TORSO = 1
AT_LIMIT = 0.99
"""A joint is at a limit beyond this part of its range, from its middle."""


@dataclass(frozen=True)
class Task:
    """What differs between the robots.

    Attributes:
        model: File of the model in this folder.
        keyframe: Initial pose; None for the default.
        alive: Reward of every frame.
        min_height: Height of the torso below which an episode ends, in metres.
        start_height: Added to the initial height, in metres.
        position_noise: Noise of the initial joint angles, in radians.
    """

    model: str
    keyframe: str | None
    alive: float
    min_height: float
    start_height: float
    position_noise: float


def define(id: str, task: Task, doc: str) -> Definition:
    """Register the world ``id``."""
    model = Model(Path(__file__).parent / task.model)
    robot, world = _classes(model, task)
    physics = Physics(model, robot, SUBSTEPS, task.keyframe)
    push = push_system(robot, TORSO, min_force=1.0, max_force=5.0, min_steps=200, max_steps=300)
    return wl.register(
        id,
        world=world,
        entities={robot: 1},
        reset=[physics.home, _place_system(robot, world, model), physics.forward],
        step=[_drive_system(robot, model), push, *physics.step, *_reward_systems(robot, world, model)],
        observe=[_orient_system(robot), _observe_system(robot, model)],
        max_steps=EPISODE,
        doc=doc,
        frames_per_second=60,
        worlds_per_thread=1,
        cuda_float32=True,
    )


def observation_size(model: Model) -> int:
    """Height, roll and pitch, velocities, direction of the target, joints, forces of actuators, feet."""
    return 1 + 2 + 3 + 3 + 2 + 3 * model.nu + model.nsensordata


def _classes(model: Model, task: Task) -> tuple[type[wl.Entity], type[wl.World]]:
    low, high = model.mj_model.jnt_range[1:].T
    middle, half_range = 0.5 * (low + high), 0.5 * (high - low)

    class Robot(wl.Entity, model.State, Pushed):
        actuator_force: model.actuator_force
        sensordata: model.sensordata
        xfrc_applied: model.xfrc_applied
        action: wl.Action(wl.Box(-1.0, 1.0, (model.nu,)))
        observation: wl.Observation(observation_size(model), dtype=wl.float64)
        reward: wl.Reward(wl.float64)
        target: wl.Array(wl.float64, 2)
        roll: wl.float64
        pitch: wl.float64
        upright: wl.float64
        heading_sine: wl.float64
        heading_cosine: wl.float64
        speed: wl.Info(wl.float64)

    class Ground(wl.World):
        alive: wl.Config = wl.float64(task.alive)
        heading_weight: wl.Config = wl.float64(0.5)
        standing_weight: wl.Config = wl.float64(0.05)
        torque_weight: wl.Config = wl.float64(4.0)
        action_weight: wl.Config = wl.float64(0.5)
        limit_weight: wl.Config = wl.float64(0.2)
        feet_weight: wl.Config = wl.float64(1.0)
        min_height: wl.Config = wl.float64(task.min_height)
        start_height: wl.Config = wl.float64(task.start_height)
        position_noise: wl.Config = wl.float64(task.position_noise)
        velocity_noise: wl.Config = wl.float64(0.1)
        target_distance: wl.Config = wl.float64(1000.0)
        joint_middle: wl.Config = middle
        joint_half_range: wl.Config = half_range

    return Robot, Ground


def _place_system(kind: type[wl.Entity], world: type[wl.World], model: Model) -> System:
    nq, nv = model.nq, model.nv

    @wl.system
    def place(robot: kind, ground: world):
        robot.qpos[2] += ground.start_height
        for i in range(ROOT, nq):
            robot.qpos[i] += ground.position_noise * ground.random(-1.0, 1.0)
        for i in range(nv):
            robot.qvel[i] += ground.velocity_noise * ground.random(-1.0, 1.0)
        robot.target[0] = ground.target_distance
        robot.target[1] = 0.0

    return place


def _drive_system(kind: type[wl.Entity], model: Model) -> System:
    num_motors = model.nu

    @wl.system
    def drive(robot: kind):
        for i in range(num_motors):
            robot.ctrl[i] = wl.clamp(robot.action[i], -1.0, 1.0)

    return drive


def _orient_system(kind: type[wl.Entity]) -> System:
    @wl.system
    def orient(robot: kind):
        w, x, y, z = robot.qpos[3], robot.qpos[4], robot.qpos[5], robot.qpos[6]
        robot.upright = 1.0 - 2.0 * (x * x + y * y)
        robot.roll = wl.atan2(2.0 * (w * x + y * z), 1.0 - 2.0 * (x * x + y * y))
        robot.pitch = wl.asin(wl.clamp(2.0 * (w * y - z * x), wl.float64(-1.0), wl.float64(1.0)))
        yaw = wl.atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z))
        angle = wl.atan2(robot.target[1] - robot.qpos[1], robot.target[0] - robot.qpos[0]) - yaw
        robot.heading_sine = wl.sin(angle)
        robot.heading_cosine = wl.cos(angle)

    return orient


def _reward_systems(kind: type[wl.Entity], world: type[wl.World], model: Model) -> tuple[System, ...]:
    num_motors, num_joints, num_feet = model.nu, model.nq - ROOT, model.nsensordata
    largest = wl.float64(np.abs(model.mj_model.actuator_gear[:, 0]).max())

    @wl.system
    def reward_motion(robot: kind, ground: world):
        x, y = robot.target[0] - robot.qpos[0], robot.target[1] - robot.qpos[1]
        distance = wl.max(wl.sqrt(x * x + y * y), wl.float64(1e-6))
        robot.speed = (robot.qvel[0] * x + robot.qvel[1] * y) / distance
        heading = wl.min(robot.heading_cosine / 0.8, wl.float64(1.0))
        standing = wl.float64(1.0) if robot.upright > 0.93 else wl.float64(0.0)
        robot.reward = ground.alive + robot.speed + ground.heading_weight * heading + ground.standing_weight * standing

    @wl.system
    def charge_effort(robot: kind, ground: world):
        torque, effort = wl.float64(0.0), wl.float64(0.0)
        for i in range(num_motors):
            torque += wl.abs(robot.actuator_force[i]) / largest
            effort += robot.ctrl[i] * robot.ctrl[i]
        limits, feet = wl.float64(0.0), wl.float64(0.0)
        for i in range(num_joints):
            place = (robot.qpos[ROOT + i] - ground.joint_middle[i]) / ground.joint_half_range[i]
            if wl.abs(place) > AT_LIMIT:
                limits += 1.0
        for i in range(num_feet):
            if robot.sensordata[i] > 0.0:
                feet += 1.0
        robot.reward -= ground.torque_weight * torque + ground.action_weight * effort
        robot.reward -= ground.limit_weight * limits + ground.feet_weight * feet

    @wl.system
    def end_falls(robot: kind, ground: world):
        if robot.qpos[2] < ground.min_height:
            ground.terminate()

    return _orient_system(kind), reward_motion, charge_effort, end_falls


def _observe_system(kind: type[wl.Entity], model: Model) -> System:
    num_motors, num_joints, num_feet = model.nu, model.nq - ROOT, model.nsensordata
    largest = wl.float64(np.abs(model.mj_model.actuator_gear[:, 0]).max())
    velocities = 11 + num_joints
    forces = velocities + num_joints
    feet = forces + num_motors

    @wl.system
    def observe(robot: kind):
        robot.observation[0] = robot.qpos[2]
        robot.observation[1] = robot.roll
        robot.observation[2] = robot.pitch
        for i in range(ROOT_VELOCITY):
            robot.observation[3 + i] = robot.qvel[i]
        robot.observation[9] = robot.heading_sine
        robot.observation[10] = robot.heading_cosine
        for i in range(num_joints):
            robot.observation[11 + i] = robot.qpos[ROOT + i]
            robot.observation[velocities + i] = robot.qvel[ROOT_VELOCITY + i]
        for i in range(num_motors):
            robot.observation[forces + i] = robot.actuator_force[i] / largest
        for i in range(num_feet):
            robot.observation[feet + i] = wl.float64(1.0) if robot.sensordata[i] > 0.0 else wl.float64(0.0)

    return observe
