# Annotations are evaluated: systems refer to classes that are local to a function.
"""Hopper: a planar robot with one leg stands or hops forward."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import sensor_address
from worldloom.envs.dm_suite.observations import numbers, observe_position_system, observe_velocity_system
from worldloom.envs.dm_suite.task import default_model, define_task, robot_of, suite_physics
from worldloom.envs.dm_suite.tolerance import INFINITY, excess, linear, log1p, quadratic, within
from worldloom.robots import Model, Placement, PlacementState, limited_and_rotational

CONTROL_TIMESTEP = 0.02
STAND_HEIGHT = wl.float64(0.6)
HOP_SPEED = wl.float64(2.0)


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    model = default_model(model_file, "hopper")

    class Hopper(wl.Entity, robot_of(model, "xipos", "sensordata"), PlacementState):
        position: numbers(model.nq - 1)
        velocity: numbers(model.nv)
        touch: numbers(2)
        reward: wl.Reward(wl.float64)

    physics = suite_physics(model, Hopper, CONTROL_TIMESTEP)
    return define_task(
        id,
        physics,
        reset=Placement(physics, limited_and_rotational(model)).reset,
        reward=[_hop_system(Hopper, model) if task == "hop" else _stand_system(Hopper, model)],
        observe=[
            observe_position_system(Hopper, model, skipped=1),
            observe_velocity_system(Hopper, model),
            _touch_system(Hopper, model),
        ],
        doc=__doc__,
    )


def _hop_system(kind: type[wl.Entity], model: Model) -> System:
    torso, foot, speed = model.body("torso"), model.body("foot"), sensor_address(model, "torso_subtreelinvel")

    @wl.system
    def reward_hopping(hopper: kind):
        standing = within(hopper.xipos[torso, 2] - hopper.xipos[foot, 2], STAND_HEIGHT, 2.0)
        hopping = linear(excess(hopper.sensordata[speed], HOP_SPEED, INFINITY, HOP_SPEED / 2.0), 0.5)
        hopper.reward = standing * hopping

    return reward_hopping


def _stand_system(kind: type[wl.Entity], model: Model) -> System:
    torso, foot, nu, count = model.body("torso"), model.body("foot"), model.nu, wl.float64(model.nu)

    @wl.system
    def reward_standing(hopper: kind):
        standing = within(hopper.xipos[torso, 2] - hopper.xipos[foot, 2], STAND_HEIGHT, 2.0)
        small_control = wl.float64(0.0)
        for i in range(nu):
            small_control += quadratic(excess(hopper.ctrl[i], 0.0, 0.0, 1.0), 0.0)
        hopper.reward = standing * ((small_control / count + 4.0) / 5.0)

    return reward_standing


def _touch_system(kind: type[wl.Entity], model: Model) -> System:
    toe, heel = sensor_address(model, "touch_toe"), sensor_address(model, "touch_heel")

    @wl.system
    def observe_touch(hopper: kind):
        hopper.touch[0] = log1p(hopper.sensordata[toe])
        hopper.touch[1] = log1p(hopper.sensordata[heel])

    return observe_touch
