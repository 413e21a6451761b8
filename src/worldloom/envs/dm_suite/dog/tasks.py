# Annotations are evaluated: systems refer to classes that are local to a function.
"""Dog: a robot dog with 73 joints stands, walks, trots, runs, or fetches a ball."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import sensor_address
from worldloom.envs.dm_suite.dog.fetch import define_fetch
from worldloom.envs.dm_suite.dog.rules import (
    dog_of,
    observe_systems,
    place_system,
    product_system,
    stand_system,
)
from worldloom.envs.dm_suite.task import define_task, load_model, suite_physics
from worldloom.envs.dm_suite.tolerance import excess, linear
from worldloom.robots import Model

CONTROL_TIMESTEP = 0.015
TIME_LIMIT = 15
SPEEDS = {"stand": 0.0, "walk": 1.0, "trot": 3.0, "run": 9.0}
FLOOR_SPEEDS = {**SPEEDS, "stand": 1.0}
"""Speeds that determine the size of the floor."""


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    if task == "fetch":
        model = load_model(model_file, "dog", lambda module: module.get_model_and_assets(remove_ball=False))
        return define_fetch(id, model, CONTROL_TIMESTEP, __doc__)
    floor = int(FLOOR_SPEEDS[task]) * TIME_LIMIT
    model = load_model(model_file, "dog", lambda module: module.get_model_and_assets(floor))

    class Dog(wl.Entity, dog_of(model, "xpos", "xmat")):
        reward: wl.Reward(wl.float64)

    move = _move_system(Dog, model, SPEEDS[task]) if SPEEDS[task] else product_system(Dog)
    return define_task(
        id,
        suite_physics(model, Dog, CONTROL_TIMESTEP),
        reset=[place_system(Dog, model)],
        reward=[stand_system(Dog, model), move],
        observe=observe_systems(Dog, model),
        doc=__doc__,
    )


def _move_system(kind: type[wl.Entity], model: Model, target_speed: float) -> System:
    torso, velocity = model.body("torso"), sensor_address(model, "torso_linvel")
    speed, margin = wl.float64(target_speed), wl.float64(max(1.0, target_speed))

    @wl.system
    def reward_move(dog: kind):
        forward = wl.float64(0.0)
        for i in range(3):
            forward += dog.sensordata[velocity + i] * dog.xmat[torso, 3 * i]
        move = linear(excess(forward, speed, 2.0 * speed, margin), 0.0)
        dog.reward = dog.standing * ((4.0 * move + 1.0) / 5.0)

    return reward_move
