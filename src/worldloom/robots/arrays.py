"""The arrays of ``mjData`` and ``mjModel`` that can be components, with their shapes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any


class Kind(Enum):
    """Who writes an array, and when."""

    STATE = "state"
    """State that physics integrates. Systems may set it."""
    INPUT = "input"
    """Written by systems before physics."""
    PARAMETER = "parameter"
    """Of the model, with a value per world; written by systems, at a reset for example."""
    DERIVED = "derived"
    """Computed by every step of physics, from the state before its last substep or after it, and by a forward pass."""
    FORCE = "force"
    """As DERIVED, by the inverse dynamics after the last substep (``mj_rnePostConstraint``). 0 after a forward pass."""


@dataclass(frozen=True)
class DataArray:
    """An array of ``mjData``, or of ``mjModel`` for parameters.

    Attributes:
        name: Its name.
        shape: Its dimensions: sizes of ``mjModel`` by name, or numbers; empty for a single number.
        kind: Who writes it.
    """

    name: str
    shape: tuple[str | int, ...]
    kind: Kind

    def sizes(self, model: Any) -> tuple[int, ...]:
        """The shape of the array of ``model``, an ``MjModel``."""
        return tuple(size if isinstance(size, int) else int(getattr(model, size)) for size in self.shape)


def _arrays(kind: Kind, **shapes: tuple[str | int, ...]) -> dict[str, DataArray]:
    return {name: DataArray(name, shape, kind) for name, shape in shapes.items()}


ARRAYS: dict[str, DataArray] = {
    **_arrays(
        Kind.STATE,
        time=(),
        qpos=("nq",),
        qvel=("nv",),
        act=("na",),
        qacc_warmstart=("nv",),
    ),
    **_arrays(
        Kind.INPUT,
        ctrl=("nu",),
        mocap_pos=("nmocap", 3),
        mocap_quat=("nmocap", 4),
        qfrc_applied=("nv",),
        xfrc_applied=("nbody", 6),
    ),
    **_arrays(
        Kind.DERIVED,
        qacc=("nv",),
        qfrc_actuator=("nv",),
        qfrc_constraint=("nv",),
        qfrc_passive=("nv",),
        actuator_force=("nu",),
        actuator_length=("nu",),
        actuator_velocity=("nu",),
        sensordata=("nsensordata",),
        ten_length=("ntendon",),
        ten_velocity=("ntendon",),
        xpos=("nbody", 3),
        xquat=("nbody", 4),
        xmat=("nbody", 9),
        xipos=("nbody", 3),
        geom_xpos=("ngeom", 3),
        geom_xmat=("ngeom", 9),
        site_xpos=("nsite", 3),
        site_xmat=("nsite", 9),
        subtree_com=("nbody", 3),
        subtree_linvel=("nbody", 3),
        cinert=("nbody", 10),
        cvel=("nbody", 6),
    ),
    **_arrays(
        Kind.FORCE,
        cacc=("nbody", 6),
        cfrc_int=("nbody", 6),
        cfrc_ext=("nbody", 6),
    ),
    **_arrays(
        Kind.PARAMETER,
        gravity=(3,),
        body_mass=("nbody",),
        body_inertia=("nbody", 3),
        body_ipos=("nbody", 3),
        body_pos=("nbody", 3),
        body_quat=("nbody", 4),
        jnt_stiffness=("njnt",),
        dof_damping=("nv",),
        dof_armature=("nv",),
        dof_frictionloss=("nv",),
        geom_friction=("ngeom", 3),
        geom_pos=("ngeom", 3),
        geom_size=("ngeom", 3),
        site_pos=("nsite", 3),
        actuator_gainprm=("nu", 10),
        actuator_biasprm=("nu", 10),
        actuator_gear=("nu", 6),
        actuator_forcerange=("nu", 2),
        wrap_prm=("nwrap",),
        hfield_data=("nhfielddata",),
    ),
}
"""All arrays by name."""

SINGLE_PRECISION = ("hfield_data",)
"""Arrays of float32 numbers in MuJoCo; the others have float64 numbers."""

C_ENGINE_ONLY = ("hfield_data",)
"""Parameters that have one value for all worlds in MuJoCo Warp."""

ALWAYS = ("time", "qpos", "qvel", "act", "qacc_warmstart", "ctrl", "mocap_pos", "mocap_quat")
"""The arrays that a state always has, unless they are empty in a model: a step from them is the same bit for bit."""
