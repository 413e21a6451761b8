"""MuJoCo Warp in a world: its arrays are the world's columns, and a step is recorded with the systems."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.model.launch import Shard
from worldloom.robots.arrays import ARRAYS, C_ENGINE_ONLY, Kind
from worldloom.robots.model import Model, import_mujoco_warp, supported_model
from worldloom.robots.sizes import Sizes
from worldloom.robots.warp.acceleration_refinement import AccelerationRefinement, needs_refinement
from worldloom.robots.warp.contact_corrections import ContactCorrections
from worldloom.robots.warp.engine_kernels import clear_faulted, collect_faults, copy_selected
from worldloom.robots.warp.row_order import RowOrder, needs_order
from worldloom.robots.warp.selected_worlds import SelectedWorlds
from worldloom.robots.warp.static_geoms import StaticPoses
from worldloom.robots.warp.tendon_coefficients import TendonCoefficients

_OF_FORCES = ("qacc", "qfrc_actuator", "qfrc_constraint", "actuator_force")
"""Derived arrays that a forward pass alone computes."""
_OF_TRANSMISSIONS = ("qfrc_passive", "actuator_length", "actuator_velocity", "ten_velocity")
"""Derived arrays that depend on positions and velocities, but not only on the poses and velocities of bodies."""
_OF_BODIES = (
    "magnetometer",
    "rangefinder",
    "camprojection",
    "jointpos",
    "tendonpos",
    "ballquat",
    "framepos",
    "framequat",
    "framexaxis",
    "frameyaxis",
    "framezaxis",
    "subtreecom",
    "insidesite",
    "clock",
    "velocimeter",
    "gyro",
    "jointvel",
    "ballangvel",
    "framelinvel",
    "frameangvel",
    "subtreelinvel",
    "subtreeangmom",
)
"""Sensors that depend on the poses and velocities of bodies, and on joints."""


class WarpEngine:
    """The models and data of MuJoCo Warp for the worlds of a simulation.

    Args:
        model: The model.
        columns: The columns by the name of their array, float32 with one row per world.
        faults: Column of the faults, int32.
        num_worlds: Number of worlds.
        sizes: Contacts and constraints per world.
        device: The device.
    """

    def __init__(
        self,
        model: Model,
        columns: Mapping[str, wp.array],
        faults: wp.array,
        num_worlds: int,
        sizes: Sizes,
        device: wp.Device,
    ) -> None:
        self.mjw = import_mujoco_warp()
        for name in C_ENGINE_ONLY:
            if name in columns:
                raise InputError(f"'{name}' has one value for all worlds on a GPU: choose device='cpu'")
        self.columns, self.faults, self.num_worlds, self.device = columns, faults, num_worlds, device
        self._host = supported_model(model)
        overflow = self.mjw.OverflowType
        self._constraint_bits = int(overflow.NEFC | overflow.NJMAX_NNZ)
        self._contact_bits = int(overflow.BROADPHASE | overflow.NARROWPHASE | overflow.CCD | overflow.HFIELD)
        with wp.ScopedDevice(device):
            self.model = self.mjw.put_model(self._host)
            self.model.opt.warn_overflow = False
            # Boxes collide as in MuJoCo. The default of MuJoCo Warp finds fewer contacts at their edges.
            self.model.opt.disableflags |= int(self.mjw.DisableBit.NATIVECCD)
            self.model.callback.contactfilter = ContactCorrections(self._host)
            self.data = self.mjw.make_data(self._host, num_worlds, nconmax=sizes.contacts, njmax=sizes.constraints)
        for name, column in columns.items():
            if name == "wrap_prm":
                self.model.callback.control = TendonCoefficients(model, columns, _rows(column))
                continue
            is_parameter = ARRAYS[name].kind is Kind.PARAMETER
            owner = self.data if not is_parameter else self.model.opt if name == "gravity" else self.model
            setattr(owner, name, _shaped(column, getattr(owner, name), num_worlds))
        if needs_refinement(model.mujoco, self._host, columns):
            self.model.callback.sensor = AccelerationRefinement(self.model, num_worlds, device)
        if needs_order(self._host):
            self.model.callback.passive = RowOrder(self.data, device)
        self._static = StaticPoses(self._host, columns, device)
        self._forces = self._names(Kind.FORCE)
        self._sensors = _Sensors(model) if "sensordata" in columns else None

        cleared = [*self._names(Kind.STATE), *self._names(Kind.DERIVED, Kind.FORCE)]
        self._cleared = [
            (_initial(self._host, name, columns[name]), _rows(columns[name])) for name in cleared if name != "time"
        ]

    def _names(self, *kinds: Kind) -> list[str]:
        return [name for name in self.columns if ARRAYS[name].kind in kinds]

    @cached_property
    def completed(self) -> Any:
        """Data with the state of all worlds, for :meth:`complete`."""
        with wp.ScopedDevice(self.device):
            completed = self.mjw.make_data(self._host, self.num_worlds, nconmax=1, njmax=1)
        for name in self._names(Kind.STATE, Kind.INPUT):
            setattr(completed, name, getattr(self.data, name))
        return completed

    @cached_property
    def passive_model(self) -> Any:
        """The model with actuation disabled. It shares all arrays."""
        passive = copy.copy(self.model)
        passive.opt = copy.copy(self.model.opt)
        passive.opt.disableflags |= int(self.mjw.DisableBit.ACTUATION)
        return passive

    @cached_property
    def selected(self) -> SelectedWorlds:
        """Runs physics for the worlds that begin an episode."""
        with wp.ScopedDevice(self.device):
            if self.device.is_cuda:
                self.data.qpos.assign(self._host.qpos0[None].repeat(self.num_worlds, axis=0))
            columns = [_rows(self.columns[name]) for name in self._names(Kind.STATE, Kind.DERIVED)]
            return SelectedWorlds(columns, self.device, lambda: self.mjw.step(self.model, self.data))

    def prepare_reset(self, physics: bool) -> None:
        """Allocate what resets need, before launches are recorded: those with ``physics``, or :meth:`complete`."""
        _ = self.selected if physics else self.completed

    def step(self, substeps: int, shard: Shard, fresh: bool = False) -> None:
        """Take ``substeps`` steps in all worlds; ``fresh`` as in :class:`~worldloom.robots.physics.Physics`.

        A world with a fault gets the default pose, as in the C engine.
        """
        with self.on(shard):
            self._static.write(self.model, self.data)
            for _ in range(substeps):
                self.mjw.step(self.model, self.data)
            if self._forces:
                self.mjw.rne_postconstraint(self.model, self.data)
            if fresh:
                self._derive()
            wp.launch(
                collect_faults,
                dim=self.num_worlds,
                inputs=[
                    self.data.overflow,
                    self._constraint_bits,
                    self._contact_bits,
                    self.data.qpos,
                    self.data.qvel,
                    self.faults,
                ],
                record_tape=False,
            )

            for initial, column in self._cleared:
                wp.launch(clear_faulted, dim=column.shape, inputs=[self.faults, initial, column], record_tape=False)

    def _derive(self) -> None:
        """Compute what depends on positions and velocities. Sensors of forces and accelerations keep their values."""
        model, data = self.model, self.data
        if any(name in self.columns for name in _OF_TRANSMISSIONS) or (self._sensors and not self._sensors.of_bodies):
            self.mjw.fwd_position(model, data)
            self.mjw.fwd_velocity(model, data)
        else:
            self.mjw.fwd_kinematics(model, data)
            self.mjw.com_vel(model, data)
        if self._sensors:
            self.mjw.sensor_pos(model, data)
            self.mjw.sensor_vel(model, data)

    def forward(self, shard: Shard) -> None:
        """Compute what follows from the state of the selected worlds, without their actuators."""
        of_forces = any(name in self.columns for name in _OF_FORCES) or (self._sensors and self._sensors.of_forces)

        def body() -> None:
            self._static.write(self.model, self.data)
            with self.selected.memory():
                if of_forces:
                    self.mjw.forward(self.passive_model, self.data)
                else:
                    self._derive()

        with self.on(shard):
            self.selected.run(shard, body)

    def settle(self, steps: int, shard: Shard, fresh: bool) -> None:
        """Take ``steps`` steps in the selected worlds."""

        def step() -> None:
            with self.selected.memory():
                self.mjw.step(self.model, self.data)

        def body() -> None:
            self._static.write(self.model, self.data)
            self.selected.repeat(steps, step)
            if fresh:
                with self.selected.memory():
                    self._derive()

        with self.on(shard):
            self.selected.run(shard, body)

    def detect(self) -> None:
        """Compute the poses of bodies and the contacts of all worlds, within :attr:`selected`.

        Drawn poses may have many contacts: more than there is memory for are no fault.
        """
        self._static.write(self.model, self.data)
        with self.selected.memory():
            self.mjw.fwd_kinematics(self.model, self.data)
            self.mjw.collision(self.model, self.data)
        self.data.overflow.zero_()

    def complete(self, shard: Shard) -> None:
        """Compute what follows from the state of the selected worlds: positions, velocities and their sensors.

        It does so for all worlds in memory of its own, and copies those of the selected ones. Forces are 0 there.
        """
        derived = self._names(Kind.DERIVED, Kind.FORCE)
        if not derived:
            return
        completed = self.completed
        with self.on(shard):
            self._static.write(self.model, completed)
            self.mjw.fwd_kinematics(self.model, completed)
            self.mjw.com_vel(self.model, completed)
            self.mjw.sensor_pos(self.model, completed)
            self.mjw.sensor_vel(self.model, completed)
            for name in derived:
                source, target = _rows(getattr(completed, name)), _rows(self.columns[name])
                inputs = [shard.mask, shard.value, source, target]
                wp.launch(copy_selected, dim=target.shape, inputs=inputs, record_tape=False)

    @contextmanager
    def on(self, shard: Shard) -> Iterator[None]:
        """Launch on the shard's device and stream, as MuJoCo Warp uses the current ones."""
        if shard.count != self.num_worlds:
            raise InputError("MuJoCo Warp steps all worlds at once: give the simulation threads=1")
        stream = shard.stream
        with ExitStack() as scopes:
            scopes.enter_context(wp.ScopedDevice(shard.device))
            if stream is not None:
                scopes.enter_context(wp.ScopedStream(stream, sync_enter=False))
                if stream.is_capturing and stream not in shard.device.captures:
                    # PyTorch captures: Warp must know, as MuJoCo Warp allocates memory and repeats parts of a graph.
                    scopes.enter_context(wp.ScopedCapture(stream=stream, force_module_load=False, external=True))
            yield


class _Sensors:
    """What the sensors of a model depend on.

    Attributes:
        of_bodies: Whether those that depend on positions and velocities need no more than :data:`_OF_BODIES` do.
        of_forces: Whether some depend on forces or accelerations.
    """

    def __init__(self, model: Model) -> None:
        kinds, stages = model.mujoco.mjtSensor, model.mj_model.sensor_needstage
        of_forces = stages == int(model.mujoco.mjtStage.mjSTAGE_ACC)
        names = {kinds(int(kind)).name for kind in model.mj_model.sensor_type[~of_forces]}
        self.of_bodies = names <= {f"mjSENS_{name.upper()}" for name in _OF_BODIES}
        self.of_forces = bool(of_forces.any())


def _shaped(column: wp.array, like: wp.array, num_worlds: int) -> wp.array:
    """The memory of a column with the type and shape of an array of MuJoCo Warp, which has one row per world or one."""
    array = wp.array(ptr=column.ptr, dtype=like.dtype, shape=(num_worlds, *like.shape[1:]), device=column.device)
    assert array.capacity == column.capacity, (column.shape, like.shape)
    return array


def _initial(model: Any, name: str, column: wp.array) -> wp.array:
    """What a world with a fault gets: the default pose at rest, and 0 elsewhere."""
    values = model.qpos0 if name == "qpos" else np.zeros(_rows(column).shape[1])
    return wp.array(values, dtype=float, device=column.device)


def _rows(array: wp.array) -> wp.array:
    """An array as one row of numbers per world."""
    numbers = array.size * wp.types.type_size_in_bytes(array.dtype) // 4
    return wp.array(ptr=array.ptr, dtype=float, shape=(array.shape[0], numbers // array.shape[0]), device=array.device)
