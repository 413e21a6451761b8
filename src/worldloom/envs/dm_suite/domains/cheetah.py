# Annotations are evaluated: systems refer to classes that are local to a function.
"""Cheetah: a planar cheetah runs forward."""

import worldloom as wl
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import sensor_address
from worldloom.envs.dm_suite.observations import numbers, observe_position_system, observe_velocity_system
from worldloom.envs.dm_suite.task import default_model, define_task, robot_of, suite_physics
from worldloom.envs.dm_suite.tolerance import INFINITY, excess, linear
from worldloom.robots import Placement, PlacementState, limited_joints

RUN_SPEED = wl.float64(10.0)
SETTLING_STEPS = 200
"""Steps of physics before an episode, in which the cheetah falls to the floor."""


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    model = default_model(model_file, "cheetah")
    speed = sensor_address(model, "torso_subtreelinvel")

    class Cheetah(wl.Entity, robot_of(model, "sensordata"), PlacementState):
        position: numbers(model.nq - 1)
        velocity: numbers(model.nv)
        reward: wl.Reward(wl.float64)

    @wl.system
    def start_clock(cheetah: Cheetah):
        cheetah.time = 0.0

    @wl.system
    def reward(cheetah: Cheetah):
        cheetah.reward = linear(excess(cheetah.sensordata[speed], RUN_SPEED, INFINITY, RUN_SPEED), 0.0)

    physics = suite_physics(model, Cheetah)
    return define_task(
        id,
        physics,
        reset=[*Placement(physics, limited_joints(model)).reset, physics.settle(SETTLING_STEPS), start_clock],
        reward=[reward],
        observe=[observe_position_system(Cheetah, model, skipped=1), observe_velocity_system(Cheetah, model)],
        doc=__doc__,
    )
