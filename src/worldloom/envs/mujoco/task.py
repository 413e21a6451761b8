# Annotations are evaluated: systems refer to classes that are local to a function.
"""What Gymnasium's MuJoCo tasks share: their models, the components of robots and worlds, and their definitions."""

import dataclasses
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.model.entity import Components
from worldloom.core.registry.definition import Definition, PhaseEntry
from worldloom.robots import Model, Physics, Renderer
from worldloom.robots.controls import drive_system

MAX_STEPS = 1000
"""Steps of an episode of most tasks."""

RANGES = {
    "healthy_state_range": "state",
    "healthy_z_range": "z",
    "healthy_angle_range": "angle",
    "contact_force_range": "force",
    "contact_cost_range": "contact_cost",
    "impact_cost_range": "impact_cost",
}
"""What each setting bounds that is a range. The world's configuration has ``min_`` and ``max_`` of it."""


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
        return Model(bundled, trusted=True)


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


def world_of(name: str, settings: Any) -> type[wl.World]:
    """The class of a task's world. Its configuration are the settings that are real numbers, and bounds of ranges."""
    config: dict[str, Any] = {}
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if field.type is float:
            config[field.name] = wl.float64(value)
        elif field.name in RANGES:
            config[f"min_{RANGES[field.name]}"], config[f"max_{RANGES[field.name]}"] = map(wl.float64, value)
    annotations = dict.fromkeys(config, wl.Config)
    return type(name, (wl.World,), {"__annotations__": annotations, "__module__": __name__, **config})


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
