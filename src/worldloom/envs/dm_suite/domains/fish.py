# Annotations are evaluated: systems refer to classes that are local to a function.
"""Fish: a fish holds itself upright, or swims to a random target."""

from typing import Any

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import ZZ, joint_address
from worldloom.envs.dm_suite.observations import numbers, observe_velocity_system
from worldloom.envs.dm_suite.task import SuiteWorld, default_model, define_task, robot_of, suite_physics
from worldloom.envs.dm_suite.tolerance import excess, gaussian
from worldloom.robots import Draw, DrawKind, Model, Physics, Placement, PlacementState

CONTROL_TIMESTEP = 0.04
FIRST_JOINT, LAST_JOINT = "tail1", "finleft_pitch"
NUM_JOINTS = 7


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    model = default_model(model_file, "fish")
    if joint_address(model, LAST_JOINT) - joint_address(model, FIRST_JOINT) != NUM_JOINTS - 1:
        raise wl.InputError("the joints of the fish are not in dm_control's order: use dm_control's model")
    return _define_upright(id, model) if task == "upright" else _define_swim(id, model)


def _define_upright(id: str, model: Model) -> Definition:
    torso = model.body("torso")

    class Fish(wl.Entity, robot_of(model, "xmat"), PlacementState):
        joint_angles: numbers(NUM_JOINTS)
        upright: numbers()
        velocity: numbers(model.nv)
        reward: wl.Reward(wl.float64)

    @wl.system
    def reward_upright(fish: Fish):
        fish.reward = gaussian(excess(fish.xmat[torso, ZZ], 1.0, 1.0, 1.0), 0.1)

    physics = suite_physics(model, Fish, CONTROL_TIMESTEP)
    observe = [_observe_system(Fish, model), observe_velocity_system(Fish, model)]
    return define_task(id, physics, reset=_place(physics), reward=[reward_upright], observe=observe, doc=__doc__)


def _define_swim(id: str, model: Model) -> Definition:
    class Fish(
        wl.Entity,
        robot_of(
            model, "xmat", "geom_xpos", "geom_xmat", goal=wl.Array(wl.float64, 3), mouth_to_goal=wl.Array(wl.float64, 3)
        ),
        PlacementState,
    ):
        joint_angles: numbers(NUM_JOINTS)
        upright: numbers()
        target: numbers(3)
        velocity: numbers(model.nv)
        reward: wl.Reward(wl.float64)

    @wl.system
    def place_goal(fish: Fish, world: SuiteWorld):
        fish.goal[0] = world.random(-0.4, 0.4)
        fish.goal[1] = world.random(-0.4, 0.4)
        fish.goal[2] = world.random(0.1, 0.3)

    @wl.system
    def observe_target(fish: Fish):
        for i in range(3):
            fish.target[i] = fish.mouth_to_goal[i]

    physics = suite_physics(model, Fish, CONTROL_TIMESTEP)
    locate = _locate_system(Fish, model)
    return define_task(
        id,
        physics,
        reset=[*_place(physics), place_goal],
        reward=[locate, _swim_system(Fish, model)],
        observe=[_observe_system(Fish, model), locate, observe_target, observe_velocity_system(Fish, model)],
        doc=__doc__,
        goal=("geom", (0, 1, 2)),
    )


def _place(physics: Physics) -> tuple[Any, ...]:
    root, first = joint_address(physics.model, "root") + 3, joint_address(physics.model, FIRST_JOINT)
    joints = [Draw(DrawKind.UNIFORM, first + i, -0.2, 0.2) for i in range(NUM_JOINTS)]
    return Placement(physics, [Draw(DrawKind.QUATERNION, root), *joints]).reset


def _locate_system(kind: type[wl.Entity], model: Model) -> System:
    mouth = model.id("geom", "mouth")

    @wl.system
    def locate_goal(fish: kind):
        for axis in range(3):
            sum = wl.float64(0.0)
            for i in range(3):
                sum += (fish.goal[i] - fish.geom_xpos[mouth, i]) * fish.geom_xmat[mouth, 3 * i + axis]
            fish.mouth_to_goal[axis] = sum

    return locate_goal


def _swim_system(kind: type[wl.Entity], model: Model) -> System:
    torso, sizes = model.body("torso"), model.mj_model.geom_size
    radii = wl.float64(sizes[model.id("geom", "mouth"), 0] + sizes[model.id("geom", "target"), 0])

    @wl.system
    def reward_swim(fish: kind):
        squares = wl.float64(0.0)
        for i in range(3):
            squares += fish.mouth_to_goal[i] * fish.mouth_to_goal[i]
        in_target = gaussian(excess(wl.sqrt(squares), 0.0, radii, 2.0 * radii), 0.1)
        fish.reward = (7.0 * in_target + 0.5 * (fish.xmat[torso, ZZ] + 1.0)) / 8.0

    return reward_swim


def _observe_system(kind: type[wl.Entity], model: Model) -> System:
    first, torso = joint_address(model, FIRST_JOINT), model.body("torso")

    @wl.system
    def observe(fish: kind):
        for i in range(NUM_JOINTS):
            fish.joint_angles[i] = fish.qpos[first + i]
        fish.upright = fish.xmat[torso, ZZ]

    return observe
