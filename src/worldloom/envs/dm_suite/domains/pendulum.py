# Annotations are evaluated: systems refer to classes that are local to a function.
"""Pendulum: swing a pole up with a torque that is too weak to lift it at once."""

import math

import worldloom as wl
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import XZ, ZZ
from worldloom.envs.dm_suite.observations import numbers, observe_velocity_system
from worldloom.envs.dm_suite.task import SuiteWorld, default_model, define_task, robot_of, suite_physics
from worldloom.envs.dm_suite.tolerance import within

_UPRIGHT = wl.float64(math.cos(math.radians(8)))


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    model = default_model(model_file, "pendulum")
    pole = model.body("pole")

    class Pendulum(wl.Entity, robot_of(model, "xmat")):
        orientation: numbers(2)
        velocity: numbers(model.nv)
        reward: wl.Reward(wl.float64)

    @wl.system
    def place(pendulum: Pendulum, world: SuiteWorld):
        pendulum.qpos[0] = world.random(-math.pi, math.pi)

    @wl.system
    def reward(pendulum: Pendulum):
        pendulum.reward = within(pendulum.xmat[pole, ZZ], _UPRIGHT, 1.0)

    @wl.system
    def observe(pendulum: Pendulum):
        pendulum.orientation[0] = pendulum.xmat[pole, ZZ]
        pendulum.orientation[1] = pendulum.xmat[pole, XZ]

    physics, velocity = suite_physics(model, Pendulum), observe_velocity_system(Pendulum, model)
    return define_task(id, physics, reset=[place], reward=[reward], observe=[observe, velocity], doc=__doc__)
