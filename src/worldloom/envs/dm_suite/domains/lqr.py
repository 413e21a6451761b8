# Annotations are evaluated: systems refer to classes that are local to a function.
"""LQR: a chain of masses and springs with motors is brought to rest, with linear dynamics and quadratic costs."""

import math

import numpy as np

import worldloom as wl
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.observations import numbers, observe_position_system, observe_velocity_system
from worldloom.envs.dm_suite.task import SuiteWorld, define_task, load_model, robot_of, suite_physics

SIZES = {"lqr_2_1": (2, 1), "lqr_6_2": (6, 2)}
"""Bodies and motors."""
CONTROL_COST = wl.float64(0.1)
REST = wl.float64(1e-6)
"""Norm of the state below which an episode ends."""
MODEL_SEED = 0
"""Seed of the stiffness of the springs, which dm_control draws for each environment."""
_SQRT_2 = wl.float64(math.sqrt(2.0))


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    bodies, motors = SIZES[task]
    generator = np.random.RandomState(MODEL_SEED)
    model = load_model(model_file, "lqr", lambda module: module.get_model_and_assets(bodies, motors, generator))
    nq, nv, nu = model.nq, model.nv, model.nu

    class Chain(wl.Entity, robot_of(model)):
        position: numbers(nq)
        velocity: numbers(nv)
        reward: wl.Reward(wl.float64)

    @wl.system
    def place(chain: Chain, world: SuiteWorld):
        squares = wl.float64(0.0)
        for i in range(nq):
            chain.qpos[i] = world.normal()
            squares += chain.qpos[i] * chain.qpos[i]
        for i in range(nq):
            chain.qpos[i] = _SQRT_2 * chain.qpos[i] / wl.sqrt(squares)

    @wl.system
    def reward(chain: Chain, world: SuiteWorld):
        position, velocity, control = wl.float64(0.0), wl.float64(0.0), wl.float64(0.0)
        for i in range(nq):
            position += chain.qpos[i] * chain.qpos[i]
        for i in range(nv):
            velocity += chain.qvel[i] * chain.qvel[i]
        for i in range(nu):
            control += chain.ctrl[i] * chain.ctrl[i]
        chain.reward = 1.0 - (0.5 * position + 0.5 * control * CONTROL_COST)
        if wl.sqrt(position + velocity) < REST:
            world.terminate()

    return define_task(
        id,
        suite_physics(model, Chain),
        reset=[place],
        reward=[reward],
        observe=[observe_position_system(Chain, model), observe_velocity_system(Chain, model)],
        doc=__doc__,
    )
