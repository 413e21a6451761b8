# Annotations are evaluated: systems refer to classes that are local to a function.
"""Swimmer: a chain of 6 or 15 links swims in the plane to a random target."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import sensor_address
from worldloom.envs.dm_suite.observations import numbers
from worldloom.envs.dm_suite.task import SuiteWorld, define_task, load_model, robot_of, suite_physics
from worldloom.envs.dm_suite.tolerance import excess, long_tail
from worldloom.robots import Model, Placement, PlacementState, limited_and_rotational

CONTROL_TIMESTEP = 0.03
LINKS = {"swimmer6": 6, "swimmer15": 15}
ROOT_JOINTS = 3
CLOSE_TARGET_PROBABILITY = 0.2


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    links = LINKS[task]
    model = load_model(model_file, "swimmer", lambda module: module.get_model_and_assets(links))

    class Swimmer(
        wl.Entity,
        robot_of(
            model, "xmat", "geom_xpos", "sensordata", goal=wl.Array(wl.float64, 3), nose_to_goal=wl.Array(wl.float64, 2)
        ),
        PlacementState,
    ):
        joints: numbers(model.nq - ROOT_JOINTS)
        to_target: numbers(2)
        body_velocities: numbers(3 * links)
        reward: wl.Reward(wl.float64)

    physics = suite_physics(model, Swimmer, CONTROL_TIMESTEP)
    locate = _locate_system(Swimmer, model)
    return define_task(
        id,
        physics,
        reset=[*Placement(physics, limited_and_rotational(model)).reset, _goal_system(Swimmer, model)],
        reward=[locate, _reward_system(Swimmer, model)],
        observe=[locate, _observe_system(Swimmer, model, links)],
        doc=__doc__,
        goal=("geom", (0, 1, 2)),
    )


def _goal_system(kind: type[wl.Entity], model: Model) -> System:
    height = wl.float64(model.mj_model.geom_pos[model.id("geom", "target"), 2])

    @wl.system
    def place_goal(swimmer: kind, world: SuiteWorld):
        size = 0.3 if world.random() < CLOSE_TARGET_PROBABILITY else 2.0
        for i in range(2):
            swimmer.goal[i] = size * world.random(-1.0, 1.0)
        swimmer.goal[2] = height

    return place_goal


def _locate_system(kind: type[wl.Entity], model: Model) -> System:
    nose, head = model.id("geom", "nose"), model.body("head")

    @wl.system
    def locate_goal(swimmer: kind):
        for axis in range(2):
            sum = wl.float64(0.0)
            for i in range(3):
                sum += (swimmer.goal[i] - swimmer.geom_xpos[nose, i]) * swimmer.xmat[head, 3 * i + axis]
            swimmer.nose_to_goal[axis] = sum

    return locate_goal


def _reward_system(kind: type[wl.Entity], model: Model) -> System:
    size = wl.float64(model.mj_model.geom_size[model.id("geom", "target"), 0])

    @wl.system
    def reward(swimmer: kind):
        x, y = swimmer.nose_to_goal[0], swimmer.nose_to_goal[1]
        swimmer.reward = long_tail(excess(wl.sqrt(x * x + y * y), 0.0, size, 5.0 * size), 0.1)

    return reward


def _observe_system(kind: type[wl.Entity], model: Model, links: int) -> System:
    num_joints, velocities = model.nq - ROOT_JOINTS, sensor_address(model, "head_vel")

    @wl.system
    def observe(swimmer: kind):
        for i in range(num_joints):
            swimmer.joints[i] = swimmer.qpos[ROOT_JOINTS + i]
        for i in range(2):
            swimmer.to_target[i] = swimmer.nose_to_goal[i]
        for link in range(links):  # velocity in x and y, and angular velocity around z
            swimmer.body_velocities[3 * link] = swimmer.sensordata[velocities + 6 * link]
            swimmer.body_velocities[3 * link + 1] = swimmer.sensordata[velocities + 6 * link + 1]
            swimmer.body_velocities[3 * link + 2] = swimmer.sensordata[velocities + 6 * link + 5]

    return observe
