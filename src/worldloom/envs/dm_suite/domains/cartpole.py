# Annotations are evaluated: systems refer to classes that are local to a function.
"""Cartpole: a cart balances one or more poles, or swings them up."""

import math

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import XZ, ZZ
from worldloom.envs.dm_suite.observations import numbers, observe_velocity_system
from worldloom.envs.dm_suite.task import SuiteWorld, define_task, load_model, robot_of, suite_physics
from worldloom.envs.dm_suite.tolerance import excess, gaussian, quadratic, within
from worldloom.robots import Model

POLES = {"two_poles": 2, "three_poles": 3}
_PI = wl.float64(math.pi)


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    model = load_model(model_file, "cartpole", lambda module: module.get_model_and_assets(POLES.get(task, 1)))

    class Cartpole(wl.Entity, robot_of(model, "xmat")):
        position: numbers(1 + 2 * (model.nbody - 2))
        velocity: numbers(model.nv)
        reward: wl.Reward(wl.float64)

    balance = task.startswith("balance")
    return define_task(
        id,
        suite_physics(model, Cartpole),
        reset=[_balance_system(Cartpole, model) if balance else _hang_system(Cartpole, model)],
        reward=[_sparse_reward_system(Cartpole, model) if task.endswith("sparse") else _reward_system(Cartpole, model)],
        observe=[_observe_system(Cartpole, model), observe_velocity_system(Cartpole, model)],
        doc=__doc__,
    )


def _balance_system(kind: type[wl.Entity], model: Model) -> System:
    nq, nv = model.nq, model.nv

    @wl.system
    def place_upright(cart: kind, world: SuiteWorld):
        cart.qpos[0] = world.random(-0.1, 0.1)
        for i in range(1, nq):
            cart.qpos[i] = world.random(-0.034, 0.034)
        for i in range(nv):
            cart.qvel[i] = world.normal(0.0, 0.01)

    return place_upright


def _hang_system(kind: type[wl.Entity], model: Model) -> System:
    nq, nv = model.nq, model.nv

    @wl.system
    def place_hanging(cart: kind, world: SuiteWorld):
        cart.qpos[0] = world.normal(0.0, 0.01)
        cart.qpos[1] = _PI + world.normal(0.0, 0.01)
        for i in range(2, nq):
            cart.qpos[i] = world.normal(0.0, 0.1)
        for i in range(nv):
            cart.qvel[i] = world.normal(0.0, 0.01)

    return place_hanging


def _reward_system(kind: type[wl.Entity], model: Model) -> System:
    bodies, nv, poles = model.nbody, model.nv, wl.float64(model.nbody - 2)

    @wl.system
    def reward(cart: kind):
        upright = wl.float64(0.0)
        for body in range(2, bodies):
            upright += (cart.xmat[body, ZZ] + 1.0) / 2.0
        slow = wl.float64(1.0)
        for i in range(1, nv):
            slow = min(slow, gaussian(excess(cart.qvel[i], 0.0, 0.0, 5.0), 0.1))
        centered = (1.0 + gaussian(excess(cart.qpos[0], 0.0, 0.0, 2.0), 0.1)) / 2.0
        small_control = (4.0 + quadratic(excess(cart.ctrl[0], 0.0, 0.0, 1.0), 0.0)) / 5.0
        cart.reward = upright / poles * small_control * ((1.0 + slow) / 2.0) * centered

    return reward


def _sparse_reward_system(kind: type[wl.Entity], model: Model) -> System:
    bodies = model.nbody

    @wl.system
    def sparse_reward(cart: kind):
        reward = within(cart.qpos[0], -0.25, 0.25)
        for body in range(2, bodies):
            reward *= within(cart.xmat[body, ZZ], 0.995, 1.0)
        cart.reward = reward

    return sparse_reward


def _observe_system(kind: type[wl.Entity], model: Model) -> System:
    poles = model.nbody - 2

    @wl.system
    def observe(cart: kind):
        cart.position[0] = cart.qpos[0]
        for k in range(poles):
            cart.position[2 * k + 1] = cart.xmat[k + 2, ZZ]
            cart.position[2 * k + 2] = cart.xmat[k + 2, XZ]

    return observe
