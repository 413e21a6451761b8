# Annotations are evaluated: systems refer to classes that are local to a function.
"""Pusher: an arm with seven joints pushes a cylinder to a goal."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.settings import TaskSettings
from worldloom.envs.mujoco.shared.state_systems import effort_system
from worldloom.envs.mujoco.task import assemble, load_model, robot_of, world_of
from worldloom.robots import Model, Physics

MAX_STEPS = 100
JOINTS = 7
"""The observed joints of the arm, the first of ``qpos``. The last four numbers are the cylinder and the goal."""
VELOCITY_NOISE = 0.005
"""Bound of the uniform noise of the arm's initial velocities, in rad/s."""
CYLINDER_X, CYLINDER_Y = 0.3, 0.2
"""The cylinder starts at x in [-CYLINDER_X, 0], y in [-CYLINDER_Y, CYLINDER_Y], in m."""
MIN_DISTANCE = 0.17
"""Smallest initial distance of the cylinder from the goal, in m."""


class Settings(TaskSettings, xml_file="pusher_v5.xml", frame_skip=5):
    """The arguments of Gymnasium's Pusher-v5; see docs/worlds/mujoco.md."""

    reward_near_weight: float = 0.5
    reward_dist_weight: float = 1.0
    reward_control_weight: float = 0.1


def define(id: str, settings: Settings, version: int) -> Definition:
    """Pusher with ``settings``."""
    model, world = load_model(settings.xml_file), world_of("PusherWorld", settings)

    class Pusher(wl.Entity, robot_of(model, 2 * JOINTS + 9)):
        xpos: model.xpos
        reward_dist: wl.Info(wl.float64)
        reward_ctrl: wl.Info(wl.float64)
        reward_near: wl.Info(wl.float64)

    return assemble(
        id,
        Physics(model, Pusher, settings.frame_skip),
        world,
        reset=[_place_system(Pusher, world, model)],
        after=[effort_system(Pusher, model), _reward_system(Pusher, world, model)],
        observe=[_observe_system(Pusher, model)],
        max_steps=MAX_STEPS,
        doc=__doc__,
    )


def _place_system(kind: type[wl.Entity], world: type[wl.World], model: Model) -> System:
    """Adds noise to the arm's velocities, draws the place of the cylinder, and puts the goal at the origin."""
    nq = model.nq
    arm = model.nv - 4

    @wl.system
    def place(pusher: kind, state: world):
        for i in range(arm):
            pusher.qvel[i] += state.random(-VELOCITY_NOISE, VELOCITY_NOISE)
        x = state.random(-CYLINDER_X, 0.0)
        y = state.random(-CYLINDER_Y, CYLINDER_Y)
        while wl.sqrt(x * x + y * y) <= MIN_DISTANCE:
            x = state.random(-CYLINDER_X, 0.0)
            y = state.random(-CYLINDER_Y, CYLINDER_Y)
        pusher.qpos[nq - 4] = x
        pusher.qpos[nq - 3] = y
        pusher.qpos[nq - 2] = 0.0
        pusher.qpos[nq - 1] = 0.0

    return place


def _reward_system(kind: type[wl.Entity], world: type[wl.World], model: Model) -> System:
    """Rewards small distances of the cylinder to the goal and of the fingertip to the cylinder."""
    cylinder, fingertip, goal = model.body("object"), model.body("tips_arm"), model.body("goal")

    @wl.system
    def reward(pusher: kind, state: world):
        near, far = wl.float64(0.0), wl.float64(0.0)
        for k in range(3):
            near += (pusher.xpos[cylinder, k] - pusher.xpos[fingertip, k]) ** 2
            far += (pusher.xpos[cylinder, k] - pusher.xpos[goal, k]) ** 2
        pusher.reward_near = -wl.sqrt(near) * state.reward_near_weight
        pusher.reward_dist = -wl.sqrt(far) * state.reward_dist_weight
        pusher.reward_ctrl = -pusher.effort * state.reward_control_weight
        pusher.reward = pusher.reward_dist + pusher.reward_ctrl + pusher.reward_near

    return reward


def _observe_system(kind: type[wl.Entity], model: Model) -> System:
    """Angles and velocities of the joints, and the places of fingertip, cylinder and goal."""
    cylinder, fingertip, goal = model.body("object"), model.body("tips_arm"), model.body("goal")

    @wl.system
    def observe(pusher: kind):
        for i in range(JOINTS):
            pusher.observation[i] = pusher.qpos[i]
            pusher.observation[JOINTS + i] = pusher.qvel[i]
        for k in range(3):
            pusher.observation[2 * JOINTS + k] = pusher.xpos[fingertip, k]
            pusher.observation[2 * JOINTS + 3 + k] = pusher.xpos[cylinder, k]
            pusher.observation[2 * JOINTS + 6 + k] = pusher.xpos[goal, k]

    return observe
