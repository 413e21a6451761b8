# Annotations are evaluated: systems refer to classes that are local to a function.
"""Finger: a finger with two links spins a body on a hinge, or turns it to a target angle."""

import math

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.dm_suite.addresses import sensor_address
from worldloom.envs.dm_suite.observations import numbers
from worldloom.envs.dm_suite.task import SuiteWorld, default_model, define_task, robot_of, suite_physics
from worldloom.envs.dm_suite.tolerance import log1p
from worldloom.robots import Model, Physics, Placement, PlacementState, limited_and_rotational

CONTROL_TIMESTEP = 0.02
TARGET_SIZES = {"turn_easy": 0.07, "turn_hard": 0.03}
SPIN_VELOCITY = wl.float64(15.0)
SPIN_DAMPING = 0.03
"""Damping of the hinge while the body is spun."""
_PI = wl.float64(math.pi)


def define(id: str, task: str, model_file: str) -> Definition:
    """The world of ``task``."""
    model = default_model(model_file, "finger")
    return _define_spin(id, model) if task == "spin" else _define_turn(id, model, TARGET_SIZES[task])


def _define_spin(id: str, model: Model) -> Definition:
    model.mj_model.dof_damping[model.mj_model.jnt_dofadr[model.id("joint", "hinge")]] = SPIN_DAMPING
    velocity = sensor_address(model, "hinge_velocity")

    class Finger(wl.Entity, robot_of(model, "sensordata"), PlacementState):
        position: numbers(4)
        velocity: numbers(3)
        touch: numbers(2)
        reward: wl.Reward(wl.float64)

    @wl.system
    def reward_spin(finger: Finger):
        finger.reward = wl.float64(1.0) if finger.sensordata[velocity] <= -SPIN_VELOCITY else wl.float64(0.0)

    physics = suite_physics(model, Finger, CONTROL_TIMESTEP)
    observe = [_observe_system(Finger, model)]
    return define_task(id, physics, reset=_place(physics), reward=[reward_spin], observe=observe, doc=__doc__)


def _define_turn(id: str, model: Model, target_size: float) -> Definition:
    class Finger(wl.Entity, robot_of(model, "sensordata", goal=wl.Array(wl.float64, 2)), PlacementState):
        position: numbers(4)
        velocity: numbers(3)
        touch: numbers(2)
        target_position: numbers(2)
        dist_to_target: numbers()
        reward: wl.Reward(wl.float64)

    physics = suite_physics(model, Finger, CONTROL_TIMESTEP)
    return define_task(
        id,
        physics,
        reset=[_goal_system(Finger, model), *_place(physics)],
        reward=[_turn_system(Finger, model, target_size)],
        observe=[_observe_system(Finger, model), _observe_target_system(Finger, model, target_size)],
        doc=__doc__,
        goal=("site", (0, 2)),
    )


def _place(physics: Physics) -> tuple[object, ...]:
    return Placement(physics, limited_and_rotational(physics.model), free_of_contacts=True).reset


def _goal_system(kind: type[wl.Entity], model: Model) -> System:
    hinge = model.mj_model.body_pos[model.body("spinner")]
    hinge_x, hinge_z = wl.float64(hinge[0]), wl.float64(hinge[2])
    radius = wl.float64(model.mj_model.geom_size[model.id("geom", "cap1")].sum())

    @wl.system
    def place_goal(finger: kind, world: SuiteWorld):
        angle = _PI * world.random(-1.0, 1.0)
        finger.goal[0] = hinge_x + radius * wl.sin(angle)
        finger.goal[1] = hinge_z + radius * wl.cos(angle)

    return place_goal


@wl.function
def target_distance(goal_x: wl.float64, goal_z: wl.float64, tip_x: wl.float64, tip_z: wl.float64, size: wl.float64):
    """The distance of the tip from the surface of the target, negative inside. All positions relative to the hinge."""
    x, z = goal_x - tip_x, goal_z - tip_z
    return wl.sqrt(x * x + z * z) - size


def _turn_system(kind: type[wl.Entity], model: Model, target_size: float) -> System:
    tip, spinner, size = sensor_address(model, "tip"), sensor_address(model, "spinner"), wl.float64(target_size)

    @wl.system
    def reward_turn(finger: kind):
        hinge_x, hinge_z = finger.sensordata[spinner], finger.sensordata[spinner + 2]
        tip_x, tip_z = finger.sensordata[tip] - hinge_x, finger.sensordata[tip + 2] - hinge_z
        distance = target_distance(finger.goal[0] - hinge_x, finger.goal[1] - hinge_z, tip_x, tip_z, size)
        finger.reward = wl.float64(1.0) if distance <= 0.0 else wl.float64(0.0)

    return reward_turn


def _observe_system(kind: type[wl.Entity], model: Model) -> System:
    proximal, distal = sensor_address(model, "proximal"), sensor_address(model, "distal")
    tip, spinner = sensor_address(model, "tip"), sensor_address(model, "spinner")
    velocity, top, bottom = (sensor_address(model, n) for n in ("proximal_velocity", "touchtop", "touchbottom"))

    @wl.system
    def observe(finger: kind):
        finger.position[0] = finger.sensordata[proximal]
        finger.position[1] = finger.sensordata[distal]
        finger.position[2] = finger.sensordata[tip] - finger.sensordata[spinner]
        finger.position[3] = finger.sensordata[tip + 2] - finger.sensordata[spinner + 2]
        for i in range(3):
            finger.velocity[i] = finger.sensordata[velocity + i]
        finger.touch[0] = log1p(finger.sensordata[top])
        finger.touch[1] = log1p(finger.sensordata[bottom])

    return observe


def _observe_target_system(kind: type[wl.Entity], model: Model, target_size: float) -> System:
    spinner, size = sensor_address(model, "spinner"), wl.float64(target_size)

    @wl.system
    def observe_target(finger: kind):
        x, z = finger.goal[0] - finger.sensordata[spinner], finger.goal[1] - finger.sensordata[spinner + 2]
        finger.target_position[0] = x
        finger.target_position[1] = z
        finger.dist_to_target = target_distance(x, z, finger.position[2], finger.position[3], size)

    return observe_target
