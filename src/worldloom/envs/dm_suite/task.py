# Annotations are evaluated: systems refer to classes that are parameters.
"""What the tasks share: models, components of robots, physics and definitions."""

import importlib
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.frontend.system import System
from worldloom.core.model.entity import Components
from worldloom.core.model.launch import Launch
from worldloom.core.registry.definition import Definition
from worldloom.robots import Model, Physics, Renderer
from worldloom.robots.controls import drive_system

MAX_STEPS = 1000
"""Steps of an episode of every task: its time limit, divided by the seconds per step."""

Entry = System | Launch
Goal = tuple[str, tuple[int, ...]]
"""The kind of the part named ``target`` in the model, and the axes along which ``goal`` has its position."""


class SuiteWorld(wl.World):
    """The world of a task; all state is the robot's."""


def load_model(file: str, domain: str, build: Callable[[ModuleType], tuple[Any, dict[str, Any]]]) -> Model:
    """The model of a task: ``file`` where it is given, else the text and the assets that ``build`` takes from the
    module of the domain in dm_control.
    """
    if file:
        return Model(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # dm_control looks for a display, and its models have deprecated attributes
        try:
            module = importlib.import_module(f"dm_control.suite.{domain}")
        except ImportError:
            raise InputError(
                "dm_control, which has the model of this task, is not installed: pip install dm_control, "
                "or name a compiled model, model_file='model.mjb'"
            ) from None
        text, assets = build(module)
        return Model(text.decode() if isinstance(text, bytes) else text, assets, trusted=True)


def default_model(file: str, domain: str) -> Model:
    """The model of a domain whose tasks share one model."""
    return load_model(file, domain, lambda module: module.get_model_and_assets())


def _action_of(model: Model) -> Any:
    """The action: one number per actuator within its control range, or any number where it has none."""
    limited = model.mj_model.actuator_ctrllimited != 0
    ranges = model.mj_model.actuator_ctrlrange.astype(np.float32).T
    low, high = np.where(limited, ranges[0], -np.inf), np.where(limited, ranges[1], np.inf)
    return wl.Action(wl.Box(tuple(low.tolist()), tuple(high.tolist()), (model.nu,)))


def robot_of(model: Model, *arrays: str, **columns: Any) -> type[Components]:
    """The components of a robot: its state, ``arrays`` of physics by name, further ``columns``, and its action."""
    read = {name: model.component(name) for name in arrays}
    annotations = {**read, **columns, "action": _action_of(model)}
    return type("Robot", (model.State,), {"__annotations__": annotations, "__module__": __name__})


def suite_physics(model: Model, kind: type[wl.Entity], control_timestep: float = 0.0) -> Physics:
    """Physics in dm_control's order, with the substeps of ``control_timestep`` in seconds; 0 for one substep."""
    substeps = round(control_timestep / model.mj_model.opt.timestep) if control_timestep else 1
    return Physics(model, kind, substeps, fresh=True, passive_forward=True)


def define_task(
    id: str,
    physics: Physics,
    *,
    reset: Sequence[Entry],
    reward: Sequence[System],
    observe: Sequence[System],
    doc: str | None,
    world: type[wl.World] = SuiteWorld,
    goal: Goal | None = None,
) -> Definition:
    """The world of a task.

    Args:
        id: Its id.
        physics: Its physics.
        reset: Entries that change the initial state of the model.
        reward: Systems after the physics of a step.
        observe: Systems of the observations.
        doc: Its description.
        world: The class of the world.
        goal: What is drawn at the component ``goal``.
    """
    model = physics.model
    places = None if goal is None else _goal_places(physics.kind.__name__, goal)
    return Definition(
        id,
        world,
        {physics.kind: 1},
        reset=(physics.home, *reset, physics.forward),
        step=(drive_system(physics.kind, physics.model), *physics.step, *reward),
        observe=tuple(observe),
        max_steps=MAX_STEPS,
        doc=doc or "",
        render=Renderer(physics, camera=0 if model.ncam else None, places=places),
        frames_per_second=round(1.0 / (model.mj_model.opt.timestep * physics.substeps)),
        worlds_per_thread=1,
        cuda_float32=True,
    ).checked


def _goal_places(table: str, goal: Goal) -> Callable[[Any, int], dict[tuple[str, str], Any]]:
    kind, axes = goal

    def places(simulation: wl.Simulation, world: int) -> dict[tuple[str, str], Any]:
        place = np.full(3, np.nan)
        place[list(axes)] = simulation.tables[table]["goal"].numpy()[world, 0]
        return {(kind, "target"): place}

    return places
