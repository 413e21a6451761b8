"""The task that all robots share: run to a target, upright, with little effort.

The reward of a frame is

    alive + speed + 0.5 heading + 0.05 standing - 4 |torque| / max torque - 0.5 action^2 - 0.2 limits - feet

with the means of torques and squared actions over the motors, the speed towards the target in m/s, ``heading`` 1 where
the cosine of the angle to the target exceeds 0.8 and that cosine / 0.8 elsewhere, ``standing`` 1 where that of the
torso's tilt exceeds 0.93, ``limits`` the number of joints at a limit and ``feet`` the number of feet on the ground. All
coefficients are configuration.
"""

from __future__ import annotations

from dataclasses import dataclass

from worldloom.core.registry.definition import Definition
from worldloom.core.registry.registry import register
from worldloom.envs.locomotion import motion_systems, reward_systems, terrain_systems
from worldloom.envs.locomotion.appearance import make_renderer
from worldloom.envs.locomotion.components import make_classes
from worldloom.envs.locomotion.robot import Robot
from worldloom.envs.locomotion.team import load_team
from worldloom.envs.locomotion.terrain import Terrain
from worldloom.robots import Physics, Sizes

SUBSTEPS = 2
"""Steps of physics, 1/120 s each, per frame."""
EPISODE = 1000
"""Frames of an episode, at most."""
TEAM_SIZES = Sizes(20, 64)
"""Contacts and constraints for each robot of several. Measured sizes are too small: robots that run into each other lie
on the ground at the same time more often than those with random controls."""


@dataclass(frozen=True)
class Task:
    """What differs between the tasks.

    Attributes:
        model: File of the model in this folder.
        keyframe: Initial pose; None for the default.
        alive: Reward of every frame.
        min_height: Height of the torso below which a robot has fallen, in metres.
        fall_frames: Frames down after which a fall ends the robot's episode.
        start_height: Added to the initial height, in metres.
        target_frames: Frames after which a robot gets another target; 0 for one target, straight ahead.
        agents: Robots in one world.
        spacing: Distance between their starts, in metres.
        target_distance: Distance of a target, at most, in metres.
        terrain: Obstacles; None for flat ground.
    """

    model: str
    keyframe: str | None
    alive: float
    min_height: float
    fall_frames: int = 1
    start_height: float = 0.0
    target_frames: int = 0
    agents: int = 1
    spacing: float = 2.0
    target_distance: float = 1000.0
    terrain: Terrain | None = None


def define(id: str, task: Task, doc: str) -> Definition:
    """Register the world ``id``."""
    robot = Robot(load_team(task.model, task.agents, task.spacing, task.terrain), task.agents)
    kind, world = make_classes(robot, task)
    sizes = Sizes(TEAM_SIZES.contacts * task.agents, TEAM_SIZES.constraints * task.agents)
    physics = Physics(robot.model, world, SUBSTEPS, task.keyframe, sizes if task.agents > 1 else None)
    target = [motion_systems.choose_targets(kind, world, robot)] if task.target_frames else []
    orient = motion_systems.orient(kind, world, robot)
    ground, scan = [], []
    if task.terrain is not None:
        ground = [terrain_systems.measure_ground(kind, world, robot, task.terrain)]
        scan = [terrain_systems.scan_heights(kind, world, robot, task.terrain)]
    return register(
        id,
        world=world,
        entities={kind: task.agents},
        reset=[physics.home, motion_systems.place(kind, world, robot), physics.forward],
        step=[
            motion_systems.drive(kind, world, robot),
            motion_systems.push(kind, world, robot),
            *physics.step,
            *ground,
            orient,
            reward_systems.reward_motion(kind, world, robot),
            reward_systems.charge_effort(kind, world, robot),
            reward_systems.end_falls(kind, world, robot),
            *target,
        ],
        observe=[orient, motion_systems.observe(kind, world, robot), *scan],
        max_steps=EPISODE,
        doc=doc,
        render=make_renderer(physics, task, kind.__name__),
        frames_per_second=60,
        worlds_per_thread=1,
        cuda_float32=True,
    )
