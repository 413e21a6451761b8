# Annotations are evaluated: systems refer to classes that are local to a function.
"""Acrobot: swing two links up and balance them with a torque at the elbow."""

import math

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import XZ, ZZ
from worldloom.envs.dm_suite.geometry import distance
from worldloom.envs.dm_suite.observations import numbers, observe_velocity_system
from worldloom.envs.dm_suite.task import SuiteWorld, default_model, define_task, robot_of, suite_physics
from worldloom.envs.dm_suite.tolerance import excess, gaussian, within
from worldloom.robots import Model


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    model = default_model(model_file, "acrobot")
    upper, lower = model.body("upper_arm"), model.body("lower_arm")

    class Acrobot(wl.Entity, robot_of(model, "xmat", "site_xpos")):
        orientations: numbers(4)
        velocity: numbers(model.nv)
        reward: wl.Reward(wl.float64)

    @wl.system
    def place(acrobot: Acrobot, world: SuiteWorld):
        for i in range(2):
            acrobot.qpos[i] = world.random(-math.pi, math.pi)

    @wl.system
    def observe(acrobot: Acrobot):
        acrobot.orientations[0] = acrobot.xmat[upper, XZ]
        acrobot.orientations[1] = acrobot.xmat[lower, XZ]
        acrobot.orientations[2] = acrobot.xmat[upper, ZZ]
        acrobot.orientations[3] = acrobot.xmat[lower, ZZ]

    return define_task(
        id,
        suite_physics(model, Acrobot),
        reset=[place],
        reward=[_reward_system(Acrobot, model, sparse=task == "swingup_sparse")],
        observe=[observe, observe_velocity_system(Acrobot, model)],
        doc=__doc__,
    )


def _reward_system(kind: type[wl.Entity], model: Model, sparse: bool) -> System:
    tip, target = model.id("site", "tip"), model.id("site", "target")
    radius = wl.float64(model.mj_model.site_size[target, 0])

    @wl.system
    def reward(acrobot: kind):
        to_target = distance(
            acrobot.site_xpos[target, 0] - acrobot.site_xpos[tip, 0],
            acrobot.site_xpos[target, 1] - acrobot.site_xpos[tip, 1],
            acrobot.site_xpos[target, 2] - acrobot.site_xpos[tip, 2],
        )
        if sparse:
            acrobot.reward = within(to_target, 0.0, radius)
        else:
            acrobot.reward = gaussian(excess(to_target, 0.0, radius, 1.0), 0.1)

    return reward
