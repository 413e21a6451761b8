# Annotations are evaluated: systems refer to classes that are local to a function.
"""What Gymnasium's MuJoCo tasks share: their models, and the systems that drive, place and observe a robot."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components
from worldloom.core.registry.definition import Definition, PhaseEntry
from worldloom.robots import Model, Physics, Renderer

MAX_STEPS = 1000
"""Steps of an episode of most tasks."""
VELOCITY_BOUND = 10.0
"""Bound of observed velocities and constraint forces, in tasks that clip them."""


def load_model(file: str) -> Model:
    """The model of a task: one of Gymnasium's by its name, or the user's own by its path."""
    import gymnasium

    bundled = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / file
    if Path(file).name != file or not bundled.is_file():
        path = Path(file).expanduser()
        if not path.is_file():
            raise InputError(f"there is no model '{file}', neither as a file nor in Gymnasium")
        return Model(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the models of Gymnasium use elements that MuJoCo calls deprecated
        return Model(bundled)


def action_of(model: Model) -> Any:
    """The action: one number per actuator within its control range."""
    low, high = model.mj_model.actuator_ctrlrange.astype("float32").T
    return wl.Action(wl.Box(tuple(low.tolist()), tuple(high.tolist()), (model.nu,)))


def robot_of(model: Model, observation_size: int) -> type[Components]:
    """The components that the robots of most tasks have. ``effort`` is the sum of the squared controls."""

    class Robot(model.State):
        action: action_of(model)
        observation: wl.Observation(observation_size, dtype=wl.float64)
        reward: wl.Reward(wl.float64)
        effort: wl.float64

    return Robot


def step_seconds(model: Model, frame_skip: int) -> wl.float64:
    """Simulated seconds per step of the world."""
    return wl.float64(model.mj_model.opt.timestep * frame_skip)


def assemble(
    id: str,
    physics: Physics,
    world: type[wl.World],
    *,
    reset: Sequence[PhaseEntry],
    before: Sequence[PhaseEntry] = (),
    after: Sequence[PhaseEntry],
    observe: Sequence[PhaseEntry],
    max_steps: int = MAX_STEPS,
    doc: str | None,
) -> Definition:
    """The definition of a task.

    Args:
        id: The id of the world.
        physics: The physics of the robot.
        world: The class of the world, with the task's configuration.
        reset: Systems that change the initial state.
        before: Systems before the physics of a step.
        after: Systems after the physics of a step: rewards and ends.
        observe: Systems that write observations and infos.
        max_steps: Steps of an episode.
        doc: One sentence that describes the task.
    """
    drive = drive_system(physics.kind, physics.model)
    return Definition(
        id,
        world,
        {physics.kind: 1},
        reset=(physics.home, *reset, physics.forward),
        step=(*before, drive, *physics.step, *after),
        observe=tuple(observe),
        max_steps=max_steps,
        doc=doc or "",
        render=Renderer(physics),
        frames_per_second=round(1.0 / float(step_seconds(physics.model, physics.substeps))),
        worlds_per_thread=1,
        cuda_float32=True,
    ).checked


def drive_system(kind: type[wl.Entity], model: Model) -> System:
    """Copies the action to the controls."""
    nu = model.nu

    @wl.system
    def drive(robot: kind):
        for i in range(nu):
            robot.ctrl[i] = robot.action[i]

    return drive


def effort_system(kind: type[wl.Entity], model: Model) -> System:
    """Computes ``effort``, the sum of the squared controls."""
    nu = model.nu

    @wl.system
    def measure_effort(robot: kind):
        robot.effort = 0.0
        for i in range(nu):
            robot.effort += robot.ctrl[i] * robot.ctrl[i]

    return measure_effort


def add_noise_systems(
    kind: type[wl.Entity], world: type[wl.World], model: Model, normal_velocity: bool
) -> Sequence[System]:
    """Adds uniform noise of ``world.reset_noise_scale`` to the positions, and uniform or normal noise to velocities."""
    nq, nv = model.nq, model.nv

    @wl.system
    def add_position_noise(robot: kind, state: world):
        for i in range(nq):
            robot.qpos[i] += state.reset_noise_scale * (2.0 * state.random() - 1.0)

    @wl.system
    def add_uniform_velocity(robot: kind, state: world):
        for i in range(nv):
            robot.qvel[i] += state.reset_noise_scale * (2.0 * state.random() - 1.0)

    @wl.system
    def add_normal_velocity(robot: kind, state: world):
        for i in range(nv):
            robot.qvel[i] += state.reset_noise_scale * state.normal()

    return add_position_noise, add_normal_velocity if normal_velocity else add_uniform_velocity


def observe_state_system(kind: type[wl.Entity], model: Model, skipped: int, bound: float = 0.0) -> System:
    """Writes positions without the first ``skipped``, then velocities, clipped to ``bound`` where it is not 0."""
    nq, nv = model.nq, model.nv
    first = nq - skipped

    @wl.system
    def observe_state(robot: kind):
        for i in range(skipped, nq):
            robot.observation[i - skipped] = robot.qpos[i]
        for i in range(nv):
            robot.observation[first + i] = robot.qvel[i]

    @wl.system
    def observe_clipped_state(robot: kind):
        for i in range(skipped, nq):
            robot.observation[i - skipped] = robot.qpos[i]
        for i in range(nv):
            robot.observation[first + i] = min(max(robot.qvel[i], -bound), bound)

    return observe_clipped_state if bound else observe_state
