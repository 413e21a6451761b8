"""MuJoCo Warp in a world: its arrays are the world's columns, and a step is recorded with the systems."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import numpy as np
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.model.launch import Shard
from worldloom.robots.arrays import ARRAYS, C_ENGINE_ONLY, Kind
from worldloom.robots.model import Model
from worldloom.robots.sizes import Sizes
from worldloom.robots.warp_engine_kernels import clear_faulted, collect_faults, copy_selected


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
        self.mjw = _import_mujoco_warp()
        for name in C_ENGINE_ONLY:
            if name in columns:
                raise InputError(f"'{name}' has one value for all worlds on a GPU: leave the component out")
        self.columns, self.faults, self.num_worlds, self.device = columns, faults, num_worlds, device
        host = copy.copy(model.mj_model)
        if host.opt.solver == model.mujoco.mjtSolver.mjSOL_PGS:
            host.opt.solver = model.mujoco.mjtSolver.mjSOL_NEWTON
        overflow = self.mjw.OverflowType
        self._constraint_bits = int(overflow.NEFC | overflow.NJMAX_NNZ)
        self._contact_bits = int(overflow.BROADPHASE | overflow.NARROWPHASE | overflow.CCD | overflow.HFIELD)
        with wp.ScopedDevice(device):
            self.model = self.mjw.put_model(host)
            self.model.opt.warn_overflow = False
            self.data = self.mjw.make_data(host, num_worlds, nconmax=sizes.contacts, njmax=sizes.constraints)
            self.completed = self.mjw.make_data(host, num_worlds, nconmax=1, njmax=1)
        for name, column in columns.items():
            if ARRAYS[name].kind is Kind.PARAMETER:
                owner = self.model.opt if name == "gravity" else self.model
                setattr(owner, name, _shaped(column, getattr(owner, name), num_worlds))
                continue
            setattr(self.data, name, _shaped(column, getattr(self.data, name), num_worlds))
            if ARRAYS[name].kind in (Kind.STATE, Kind.INPUT):
                setattr(self.completed, name, getattr(self.data, name))
        self._forces = [name for name in columns if ARRAYS[name].kind is Kind.FORCE]
        derived = [name for name in columns if ARRAYS[name].kind is Kind.DERIVED]
        self._copied = [
            (_rows(getattr(self.completed, name)), _rows(columns[name])) for name in (*derived, *self._forces)
        ]
        state = [name for name in columns if ARRAYS[name].kind is Kind.STATE and name != "time"]
        self._cleared = [(_initial(host, name, columns[name]), _rows(columns[name])) for name in state]
        self._cleared += [
            (_initial(host, name, columns[name]), _rows(columns[name])) for name in derived + self._forces
        ]

    def step(self, substeps: int, shard: Shard) -> None:
        """Take ``substeps`` steps in all worlds. A world with a fault gets the default pose, as in the C engine."""
        with self._on(shard):
            for _ in range(substeps):
                self.mjw.step(self.model, self.data)
            if self._forces:
                self.mjw.rne_postconstraint(self.model, self.data)
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

    def complete(self, shard: Shard) -> None:
        """Compute what follows from the state of the selected worlds: positions, velocities and their sensors.

        It does so for all worlds in memory of its own, and copies those of the selected ones. Forces are 0 there.
        """
        if not self._copied:
            return
        with self._on(shard):
            self.mjw.fwd_kinematics(self.model, self.completed)
            self.mjw.com_vel(self.model, self.completed)
            self.mjw.sensor_pos(self.model, self.completed)
            self.mjw.sensor_vel(self.model, self.completed)
            for source, target in self._copied:
                inputs = [shard.mask, shard.value, source, target]
                wp.launch(copy_selected, dim=target.shape, inputs=inputs, record_tape=False)

    @contextmanager
    def _on(self, shard: Shard) -> Iterator[None]:
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


def _import_mujoco_warp() -> Any:
    try:
        import mujoco_warp
    except ImportError:
        raise InputError("robots on a GPU need MuJoCo Warp: pip install 'worldloom[robots]'") from None
    return mujoco_warp


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
