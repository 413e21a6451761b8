# Annotations are evaluated: systems refer to classes that are local to a function.
"""Observations of a humanoid: positions and velocities, inertias of bodies, and forces of motors and contacts."""

from dataclasses import dataclass

import worldloom as wl
from worldloom.core.frontend.system import System
from worldloom.envs.mujoco.shared.state_systems import observe_state_system
from worldloom.robots import Model

FREE_JOINT = 6
"""Degrees of freedom of the free joint of the torso."""


@dataclass(frozen=True)
class ObservationSettings:
    """The last settings of both tasks: the initial noise, and the parts of an observation."""

    reset_noise_scale: float = 1e-2
    exclude_current_positions_from_observation: bool = True
    include_cinert_in_observation: bool = True
    include_cvel_in_observation: bool = True
    include_qfrc_actuator_in_observation: bool = True
    include_cfrc_ext_in_observation: bool = True


@dataclass(frozen=True)
class Layout:
    """The parts of an observation, in their order: positions, velocities, inertias, velocities of bodies and forces.

    Attributes:
        skipped: Positions that are left out.
        first_body: The first body that is observed: 1 leaves out the world.
        first_dof: The first degree of freedom whose actuator force is observed.
        cinert, cvel, qfrc_actuator, cfrc_ext: Index of the first number of each part; -1 for a part that is left out.
        size: Numbers of an observation.
    """

    skipped: int
    first_body: int
    first_dof: int
    cinert: int
    cvel: int
    qfrc_actuator: int
    cfrc_ext: int
    size: int


def observation_layout(model: Model, settings: ObservationSettings, version: int) -> Layout:
    """The layout of observations. In v4 they contain the world, and the motors of the free joint, which has none."""
    skipped = 2 if settings.exclude_current_positions_from_observation else 0
    first_body, first_dof = (1, FREE_JOINT) if version == 5 else (0, 0)
    bodies = model.nbody - first_body
    lengths = {
        "cinert": 10 * bodies if settings.include_cinert_in_observation else 0,
        "cvel": 6 * bodies if settings.include_cvel_in_observation else 0,
        "qfrc_actuator": model.nv - first_dof if settings.include_qfrc_actuator_in_observation else 0,
        "cfrc_ext": 6 * bodies if settings.include_cfrc_ext_in_observation else 0,
    }
    starts, size = {}, model.nq - skipped + model.nv
    for name, length in lengths.items():
        starts[name] = size if length else -1
        size += length
    return Layout(skipped, first_body, first_dof, size=size, **starts)


def observe_systems(kind: type[wl.Entity], model: Model, layout: Layout) -> list[System]:
    """The systems that write the parts of the observation."""
    systems = [observe_state_system(kind, model, layout.skipped)]
    if layout.cinert >= 0:
        systems.append(_observe_inertias_system(kind, model, layout))
    if layout.cvel >= 0:
        systems.append(_observe_velocities_system(kind, model, layout))
    if layout.qfrc_actuator >= 0:
        systems.append(_observe_motors_system(kind, model, layout))
    if layout.cfrc_ext >= 0:
        systems.append(_observe_forces_system(kind, model, layout))
    return systems


def _observe_inertias_system(kind: type[wl.Entity], model: Model, layout: Layout) -> System:
    start, first_body, num_bodies = layout.cinert, layout.first_body, model.nbody

    @wl.system
    def observe_inertias(humanoid: kind):
        for b in range(first_body, num_bodies):
            for k in range(10):
                humanoid.observation[start + 10 * (b - first_body) + k] = humanoid.cinert[b, k]

    return observe_inertias


def _observe_velocities_system(kind: type[wl.Entity], model: Model, layout: Layout) -> System:
    start, first_body, num_bodies = layout.cvel, layout.first_body, model.nbody

    @wl.system
    def observe_velocities(humanoid: kind):
        for b in range(first_body, num_bodies):
            for k in range(6):
                humanoid.observation[start + 6 * (b - first_body) + k] = humanoid.cvel[b, k]

    return observe_velocities


def _observe_motors_system(kind: type[wl.Entity], model: Model, layout: Layout) -> System:
    start, first_dof, nv = layout.qfrc_actuator, layout.first_dof, model.nv

    @wl.system
    def observe_motors(humanoid: kind):
        for i in range(first_dof, nv):
            humanoid.observation[start + i - first_dof] = humanoid.qfrc_actuator[i]

    return observe_motors


def _observe_forces_system(kind: type[wl.Entity], model: Model, layout: Layout) -> System:
    start, first_body, num_bodies = layout.cfrc_ext, layout.first_body, model.nbody

    @wl.system
    def observe_forces(humanoid: kind):
        for b in range(first_body, num_bodies):
            for k in range(6):
                humanoid.observation[start + 6 * (b - first_body) + k] = humanoid.cfrc_ext[b, k]

    return observe_forces
