# Annotations are evaluated: systems refer to classes that are local to a function.
"""Reacher: an arm with two joints moves its fingertip to a random target in a plane."""

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.core.registry.definition import Definition
from worldloom.envs.mujoco.settings import TaskSettings, fixed
from worldloom.envs.mujoco.shared.state_systems import effort_system
from worldloom.envs.mujoco.task import assemble, load_model, robot_of, world_of
from worldloom.robots import Model, Physics


class Settings(TaskSettings, xml_file="reacher.xml", frame_skip=2):
    """The arguments of Gymnasium's Reacher-v5; see docs/worlds/mujoco.md."""

    reward_dist_weight: float = 1.0
    reward_control_weight: float = 1.0


SettingsV4 = fixed(Settings, *vars(Settings()))
"""Gymnasium's Reacher-v4 has no arguments."""

MAX_STEPS = 50
TARGET_RADIUS = 0.2
"""Largest distance of a target from the origin, in m."""
ANGLE_NOISE, VELOCITY_NOISE = 0.1, 0.005
"""Bounds of the uniform noise of the arm's initial angles, in rad, and velocities, in rad/s."""
JOINTS = 2
"""The joints of the arm, the first of ``qpos``. The last two numbers of ``qpos`` are the target."""


def define(id: str, settings: Settings, version: int) -> Definition:
    """Reacher with ``settings``. The reward of v4 is that of the distance before the step."""
    model = load_model(settings.xml_file)
    dimensions = 2 if version == 5 else 3
    reacher, world = _robot(model, dimensions), world_of("ReacherWorld", settings)
    distance = _distance_system(reacher, world, model)
    return assemble(
        id,
        Physics(model, reacher, settings.frame_skip),
        world,
        reset=[_place_system(reacher, world, model)],
        before=[distance] if version == 4 else [],
        after=[*([distance] if version == 5 else []), effort_system(reacher, model), _reward_system(reacher, world)],
        observe=[_observe_system(reacher, model, dimensions)],
        max_steps=MAX_STEPS,
        doc=__doc__,
    )


def _robot(model: Model, dimensions: int) -> type[wl.Entity]:
    class Reacher(wl.Entity, robot_of(model, model.nq + 2 * JOINTS + dimensions)):
        xpos: model.xpos
        reward_dist: wl.Info(wl.float64)
        reward_ctrl: wl.Info(wl.float64)

    return Reacher


def _place_system(kind: type[wl.Entity], world: type[wl.World], model: Model) -> System:
    """Adds noise to the arm's state and draws a target that is uniform in a disc."""
    nq, nv = model.nq, model.nv

    @wl.system
    def place(reacher: kind, state: world):
        for i in range(nq - 2):
            reacher.qpos[i] += state.random(-ANGLE_NOISE, ANGLE_NOISE)
        for i in range(nv - 2):
            reacher.qvel[i] += state.random(-VELOCITY_NOISE, VELOCITY_NOISE)
        x = state.random(-TARGET_RADIUS, TARGET_RADIUS)
        y = state.random(-TARGET_RADIUS, TARGET_RADIUS)
        while wl.sqrt(x * x + y * y) >= TARGET_RADIUS:
            x = state.random(-TARGET_RADIUS, TARGET_RADIUS)
            y = state.random(-TARGET_RADIUS, TARGET_RADIUS)
        reacher.qpos[nq - 2] = x
        reacher.qpos[nq - 1] = y

    return place


def _distance_system(kind: type[wl.Entity], world: type[wl.World], model: Model) -> System:
    fingertip, target = model.body("fingertip"), model.body("target")

    @wl.system
    def measure_distance(reacher: kind, state: world):
        square = wl.float64(0.0)
        for k in range(3):
            square += (reacher.xpos[fingertip, k] - reacher.xpos[target, k]) ** 2
        reacher.reward_dist = -wl.sqrt(square) * state.reward_dist_weight

    return measure_distance


def _reward_system(kind: type[wl.Entity], world: type[wl.World]) -> System:
    @wl.system
    def reward(reacher: kind, state: world):
        reacher.reward_ctrl = -reacher.effort * state.reward_control_weight
        reacher.reward = reacher.reward_dist + reacher.reward_ctrl

    return reward


def _observe_system(kind: type[wl.Entity], model: Model, dimensions: int) -> System:
    """Cosines and sines of the joints, the target, the joints' velocities, and the vector from target to fingertip."""
    nq = model.nq
    fingertip, target = model.body("fingertip"), model.body("target")
    velocities = nq + JOINTS
    difference = velocities + JOINTS

    @wl.system
    def observe(reacher: kind):
        for i in range(JOINTS):
            reacher.observation[i] = wl.cos(reacher.qpos[i])
            reacher.observation[JOINTS + i] = wl.sin(reacher.qpos[i])
            reacher.observation[velocities + i] = reacher.qvel[i]
        for i in range(JOINTS, nq):
            reacher.observation[JOINTS + i] = reacher.qpos[i]
        for k in range(dimensions):
            reacher.observation[difference + k] = reacher.xpos[fingertip, k] - reacher.xpos[target, k]

    return observe
