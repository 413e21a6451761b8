# Annotations are evaluated: systems refer to classes that are local to a function.
"""What Gymnasium's MuJoCo tasks share: their models, and the systems that drive, place and observe a robot."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.frontend.system import System
from worldloom.robots import Model

MAX_STEPS = 1000
"""Steps of an episode of most tasks."""


def load_model(file: str) -> Model:
    """The model of a task: a file of Gymnasium by its name, or the user's own by its path."""
    import gymnasium

    bundled = Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / file
    path = Path(file).expanduser()
    if path.is_file():
        return Model(path)
    if not bundled.is_file():
        raise InputError(f"there is no model '{file}', neither as a file nor in Gymnasium")
    return Model(bundled)


def action_of(model: Model) -> Any:
    """The action: one number per actuator within its control range."""
    low, high = model.mj_model.actuator_ctrlrange.astype("float32").T
    return wl.Action(wl.Box(tuple(low.tolist()), tuple(high.tolist()), (model.nu,)))


def drive_system(kind: type[wl.Entity], model: Model) -> System:
    """Copies the action to the controls."""
    nu = model.nu

    @wl.system
    def drive(robot: kind):
        for i in range(nu):
            robot.ctrl[i] = robot.action[i]

    return drive


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
