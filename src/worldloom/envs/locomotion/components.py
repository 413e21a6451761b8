# Annotations are evaluated: they refer to values that are local to a function.
"""The components of robots and of the ground that they run on."""

from typing import TYPE_CHECKING

import worldloom as wl
from worldloom.envs.locomotion.robot import Robot
from worldloom.envs.locomotion.terrain_systems import MAP
from worldloom.robots import Pushed

if TYPE_CHECKING:
    from worldloom.envs.locomotion.task import Task


def make_classes(robot: Robot, task: "Task") -> tuple[type[wl.Entity], type[wl.World]]:
    """The kind of entity of a robot, and the world, which has the state of all of them."""
    model = robot.model
    middle, half_range = robot.joint_ranges

    class Runner(wl.Entity, Pushed):
        action: wl.Action(wl.Box(-1.0, 1.0, (robot.motors,)))
        observation: wl.Observation(robot.observation_size, dtype=wl.float64)
        reward: wl.Reward(wl.float64)
        target: wl.Array(wl.float64, 2)
        target_in: int
        frames_down: int
        ground_height: wl.float64
        roll: wl.float64
        pitch: wl.float64
        yaw: wl.float64
        upright: wl.float64
        heading_sine: wl.float64
        heading_cosine: wl.float64
        speed: wl.Info(wl.float64)

    class Ground(wl.World, model.State):
        actuator_force: model.actuator_force
        sensordata: model.sensordata
        xfrc_applied: model.xfrc_applied
        alive: wl.Config = wl.float64(task.alive)
        heading_weight: wl.Config = wl.float64(0.5)
        standing_weight: wl.Config = wl.float64(0.05)
        torque_weight: wl.Config = wl.float64(4.0)
        action_weight: wl.Config = wl.float64(0.5)
        limit_weight: wl.Config = wl.float64(0.2)
        feet_weight: wl.Config = wl.float64(1.0)
        min_height: wl.Config = wl.float64(task.min_height)
        fall_frames: wl.Config = task.fall_frames
        start_height: wl.Config = wl.float64(task.start_height)
        position_noise: wl.Config = wl.float64(0.1)
        velocity_noise: wl.Config = wl.float64(0.1)
        min_push: wl.Config = 1.0
        max_push: wl.Config = 5.0
        target_distance: wl.Config = wl.float64(task.target_distance)
        target_frames: wl.Config = task.target_frames
        joint_middle: wl.Config = middle
        joint_half_range: wl.Config = half_range

    if task.terrain is None:
        return Runner, Ground

    class TerrainRunner(Runner):
        height_map: wl.Observation(*MAP, dtype=wl.float64)

    class TerrainGround(Ground):
        heights: wl.Config = task.terrain.heights

    return TerrainRunner, TerrainGround
