"""Random initial positions: draws of joint positions, repeated while geoms of the model touch."""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.model.dtypes import scalar_of
from worldloom.core.model.launch import Launch, Shard
from worldloom.robots.arrays import Kind
from worldloom.robots.c_engine import DataPart, contact_count_address, function_address
from worldloom.robots.model import Model
from worldloom.robots.physics import Physics, model_digest, portable_digest
from worldloom.robots.placement_kernels import place_worlds
from worldloom.robots.placement_systems import PlacementState, report_system, seed_system
from worldloom.robots.warp.placement import WarpPlacement

if TYPE_CHECKING:
    from worldloom.core.runtime.table import Table
    from worldloom.core.simulation import Simulation

MAX_ATTEMPTS = 10_000
"""Draws of a world after which its placement fails."""


class DrawKind(enum.IntEnum):
    """How positions are drawn, in the order of :mod:`~worldloom.robots.placement_kernels`."""

    UNIFORM = 0
    """Uniform between ``low`` and ``high``."""
    QUATERNION = 1
    """A uniform rotation: four normal numbers, normalized."""
    POSITIVE_QUATERNION = 2
    """Four uniform numbers from 0 to 1, normalized, as dm_control draws the orientation of free joints."""
    CLIMB = 3
    """``low``, then ``high`` more with each attempt."""
    COPY = 4
    """The position at the address ``low``."""


@dataclass(frozen=True)
class Draw:
    """A draw of one position, or of the four of a quaternion.

    Attributes:
        kind: How it is drawn.
        address: Its first index in ``qpos``.
        low, high: Its parameters.
        repeated: Whether every attempt draws it again, not only the first.
    """

    kind: DrawKind
    address: int
    low: float = 0.0
    high: float = 0.0
    repeated: bool = True


class Placement:
    """Draws joint positions.

    Attributes:
        reset: For ``reset``, after ``physics.home``: draws positions; a world without a valid draw gets a fault.

    Args:
        physics: The physics, whose kind inherits :class:`PlacementState`.
        draws: The draws, in their order.
        free_of_contacts: Whether to draw again while geoms of the model touch.
    """

    def __init__(self, physics: Physics, draws: Sequence[Draw], free_of_contacts: bool = False) -> None:
        if not issubclass(physics.kind, PlacementState):
            raise InputError(f"'{physics.kind.__name__}' lacks the state of placements: let it inherit PlacementState")
        launch = PlaceLaunch(physics, draws, MAX_ATTEMPTS if free_of_contacts else 1, free_of_contacts)
        self.reset = (seed_system(physics.kind), launch, report_system(physics.kind))


def limited_joints(model: Model) -> list[Draw]:
    """The draws of limited hinges and slides, uniform within their range."""
    limited = {int(address) for address in model.mj_model.jnt_qposadr[model.mj_model.jnt_limited != 0]}
    return [draw for draw in limited_and_rotational(model) if draw.address in limited]


def limited_and_rotational(model: Model) -> list[Draw]:
    """The draws of dm_control's ``randomize_limited_and_rotational_joints``.

    Limited hinges and slides are uniform within their range, other hinges uniform from -π to π; free and ball joints
    have random orientations. Other positions are not drawn.
    """
    joints, draws = model.mujoco.mjtJoint, []
    mj_model = model.mj_model
    for joint in range(mj_model.njnt):
        kind, address = joints(int(mj_model.jnt_type[joint])), int(mj_model.jnt_qposadr[joint])
        low, high = (float(bound) for bound in mj_model.jnt_range[joint])
        if mj_model.jnt_limited[joint] and kind in (joints.mjJNT_HINGE, joints.mjJNT_SLIDE):
            draws.append(Draw(DrawKind.UNIFORM, address, low, high))
        elif mj_model.jnt_limited[joint]:
            raise InputError("limited ball joints cannot be placed: remove their range")
        elif kind == joints.mjJNT_HINGE:
            draws.append(Draw(DrawKind.UNIFORM, address, -math.pi, math.pi))
        elif kind == joints.mjJNT_BALL:
            draws.append(Draw(DrawKind.QUATERNION, address))
        elif kind == joints.mjJNT_FREE:
            draws.append(Draw(DrawKind.POSITIVE_QUATERNION, address + 3))
    return draws


class PlaceLaunch(Launch):
    """Draws positions for all worlds.

    Args:
        physics: The physics.
        draws: The draws, in their order.
        attempts: The largest number of draws.
        free_of_contacts: Whether to draw again while geoms of the model touch.
    """

    label = "place"

    def __init__(self, physics: Physics, draws: Sequence[Draw], attempts: int, free_of_contacts: bool) -> None:
        self.physics, self.draws = physics, draws
        self.attempts, self.free_of_contacts = attempts, free_of_contacts
        self.names = physics.columns(Kind.PARAMETER, Kind.INPUT, Kind.STATE)
        self.reads = {physics.kind: (*self.names, "placement_seed")}
        self.writes = {physics.kind: ("qpos", "placed", *physics.columns(Kind.DERIVED))}

    def prepare(self, simulation: Simulation) -> dict[str, Any] | WarpPlacement:
        if simulation.definition.narrow:
            return self.prepare_warp(simulation)
        if simulation.device.is_cuda:
            raise InputError(f"world '{simulation.definition.id}' has a robot: register it with cuda_float32=True")
        table, model = self.physics.table(simulation), self.physics.model
        columns = {name: table[name].array for name in self.names}
        return {
            "parts": {first: DataPart(model, columns, len(self.names)) for first, _ in simulation.slices},
            "draws": self._draw_arrays(simulation.device),
            "seeds": table["placement_seed"].array,
            "qpos": flat_rows(table, "qpos", simulation.num_worlds),
            "placed": table["placed"].array,
        }

    def prepare_warp(self, simulation: Simulation) -> WarpPlacement:
        """The placement with MuJoCo Warp."""
        table, engine = self.physics.table(simulation), self.physics.warp_engine(simulation)
        draws = (*self._draw_arrays(simulation.device), self.attempts, self.free_of_contacts)
        qpos = flat_rows(table, "qpos", simulation.num_worlds)
        return WarpPlacement(engine, *draws, table["placement_seed"].array, qpos, table["placed"].array)

    def _draw_arrays(self, device: wp.Device) -> tuple[wp.array, wp.array]:
        """Kind, address and whether it is repeated of each draw, and its bounds."""
        integers = [(draw.kind, draw.address, draw.repeated) for draw in self.draws]
        bounds = [(draw.low, draw.high) for draw in self.draws]
        return (
            wp.array(np.array(integers, dtype=np.int32).reshape(-1, 3), dtype=wp.int32, device=device),
            wp.array(np.array(bounds, dtype=np.float64).reshape(-1, 2), dtype=wp.float64, device=device),
        )

    def launch(self, prepared: dict[str, Any] | WarpPlacement, shard: Shard) -> None:
        if isinstance(prepared, WarpPlacement):
            prepared.run(shard)
            return
        inputs = [*self.inputs(prepared, shard), prepared["qpos"], prepared["placed"]]
        wp.launch(place_worlds, dim=1, inputs=inputs, device=shard.device, stream=shard.stream, record_tape=False)

    def inputs(self, prepared: dict[str, Any], shard: Shard) -> list[Any]:
        """The inputs of the kernel :func:`~worldloom.robots.placement_kernels.place_worlds`, without its outputs."""
        part = prepared["parts"][shard.first]
        function = function_address("mj_fwdPosition") if self.free_of_contacts else 0
        worlds = [shard.first, shard.count, shard.mask, shard.value]
        engine = [part.model._address, part.data._address, function, contact_count_address(part.data)]
        arrays = [part.arrays, part.sizes, part.loaded, *prepared["draws"], self.attempts]
        return [*worlds, *engine, *arrays, prepared["seeds"]]

    def digest(self) -> str:
        return f"{self.attempts} {self.free_of_contacts} {list(self.draws)} {model_digest(self.physics.model)}"


PlaceLaunch.portable_digest = portable_digest  # type: ignore[assignment]


def flat_rows(table: Table, name: str, num_worlds: int) -> wp.array:
    """A column of real numbers as one row per world."""
    column, real = table[name].array, scalar_of(table[name].field.dtype)
    numbers = wp.types.type_size_in_bytes(column.dtype) // wp.types.type_size_in_bytes(real) * column.size
    return wp.array(ptr=column.ptr, dtype=real, shape=(num_worlds, numbers // num_worlds), device=column.device)
