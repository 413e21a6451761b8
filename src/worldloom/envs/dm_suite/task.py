# Annotations are evaluated: systems refer to classes that are parameters.
"""What the tasks share: models, physics, the system that drives a robot, and systems of observations."""

import importlib
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import numpy as np

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.frontend.system import System
from worldloom.core.model.launch import Launch
from worldloom.core.registry.definition import Definition
from worldloom.robots import Model, Physics, Renderer

MAX_STEPS = 1000
"""Steps of an episode of every task: its time limit, divided by the seconds per step."""

XX, XZ, ZX, ZY, ZZ = 0, 2, 6, 7, 8
"""Columns of ``xmat``: the world's coordinate, then the body's axis."""

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
        return Model(text.decode() if isinstance(text, bytes) else text, assets)


def default_model(file: str, domain: str) -> Model:
    """The model of a domain whose tasks share one model."""
    return load_model(file, domain, lambda module: module.get_model_and_assets())


def action_of(model: Model) -> Any:
    """The action: one number per actuator within its control range, or any number where it has none."""
    limited = model.mj_model.actuator_ctrllimited != 0
    ranges = model.mj_model.actuator_ctrlrange.astype(np.float32).T
    low, high = np.where(limited, ranges[0], -np.inf), np.where(limited, ranges[1], np.inf)
    return wl.Action(wl.Box(tuple(low.tolist()), tuple(high.tolist()), (model.nu,)))


def numbers(*shape: int) -> Any:
    """An observation of float64 numbers; one number without a shape."""
    return wl.Observation(*shape, dtype=wl.float64)


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
    doc: str,
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
        step=(_drive_system(physics.kind, physics.model), *physics.step, *reward),
        observe=tuple(observe),
        max_steps=MAX_STEPS,
        doc=doc,
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


def _drive_system(kind: type[wl.Entity], model: Model) -> System:
    nu = model.nu

    @wl.system
    def drive(robot: kind):
        for i in range(nu):
            robot.ctrl[i] = robot.action[i]

    return drive


def observe_position_system(kind: type[wl.Entity], model: Model, skipped: int = 0) -> System:
    """Writes ``position``: the joint positions without the first ``skipped``."""
    nq = model.nq

    @wl.system
    def observe_position(robot: kind):
        for i in range(skipped, nq):
            robot.position[i - skipped] = robot.qpos[i]

    return observe_position


def observe_velocity_system(kind: type[wl.Entity], model: Model) -> System:
    """Writes ``velocity``: all joint velocities."""
    nv = model.nv

    @wl.system
    def observe_velocity(robot: kind):
        for i in range(nv):
            robot.velocity[i] = robot.qvel[i]

    return observe_velocity


def sensor_address(model: Model, name: str) -> int:
    """The first index of a sensor in ``sensordata``."""
    return model.sensor(name)


def joint_address(model: Model, name: str) -> int:
    """The first index of a joint in ``qpos``."""
    return int(model.mj_model.jnt_qposadr[model.id("joint", name)])


def velocity_address(model: Model, name: str) -> int:
    """The first index of a joint in ``qvel``."""
    return int(model.mj_model.jnt_dofadr[model.id("joint", name)])
