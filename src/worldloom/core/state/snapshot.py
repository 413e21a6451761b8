"""Snapshots: the state of a simulation, or of some of its worlds, which can be restored and saved to files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.core.base import device as devices
from worldloom.core.base import tensor_file
from worldloom.core.base.errors import InputError
from worldloom.core.base.paths import printable_path
from worldloom.core.runtime.column import Column
from worldloom.core.state.columns import (
    gather_rows,
    int_view,
    is_config,
    require_rows_per_world,
    scatter_rows,
    state_columns,
    with_one_copy,
    with_seeds,
    world_ids,
)
from worldloom.core.state.state_checks import check_counts, check_values

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

KIND, VERSION = "snapshot", 1
DEFAULT_SOURCE = "the saved state"
"""The name in error messages of a state that was not loaded from a file."""


@dataclass(frozen=True)
class Snapshot:
    """The state that later steps of some worlds depend on; made by ``Simulation.snapshot``.

    Attributes:
        world: The id of the world's definition.
        hash: The digest of its definition.
        autoreset: The autoreset mode of its simulation.
        num_worlds: Number of worlds.
        tensors: Every column by ``Table.name``, with the worlds as the first axis.
        shared: Names of the columns that all worlds share.
        source: The name in error messages: the file that it was loaded from.
    """

    world: str
    hash: str
    autoreset: str
    num_worlds: int
    tensors: Mapping[str, Any]
    shared: frozenset[str] = frozenset()
    source: str = field(default=DEFAULT_SOURCE, compare=False, repr=False)
    tensor_versions: tuple[tuple[int, int], ...] | None = field(default=None, compare=False, repr=False)

    @property
    def is_pristine(self) -> bool:
        """Whether it was taken in this process and its tensors have not changed since: they need no validation."""
        return self.tensor_versions is not None and self.tensor_versions == _versions(self.tensors)

    def __repr__(self) -> str:
        return f"<snapshot of {self.num_worlds} {self.world}: {self.nbytes:,} bytes>"

    def __len__(self) -> int:
        return self.num_worlds

    @property
    def nbytes(self) -> int:
        return sum(tensor.numel() * tensor.element_size() for tensor in self.tensors.values())

    def __iter__(self) -> Iterator[Snapshot]:
        return (self[world] for world in range(self.num_worlds))

    def __getitem__(self, world: int) -> Snapshot:
        """A snapshot of one of its worlds."""
        return self.worlds([world])

    def worlds(self, ids: Any) -> Snapshot:
        """A snapshot of some of its worlds, by their indices in this one, in the given order."""
        import torch

        indices = np.asarray(ids)
        if indices.ndim != 1 or indices.dtype.kind not in "iu" or not indices.size:
            raise InputError(f"worlds of a snapshot are named by a list of whole numbers, not by {ids!r}")
        wrong = indices[(indices < 0) | (indices >= self.num_worlds)]
        if wrong.size:
            raise InputError(f"this snapshot has the worlds 0 to {self.num_worlds - 1}, not {wrong[0]}")
        selected = torch.from_numpy(indices.astype(np.int64))
        tensors = {
            name: tensor if name in self.shared else gather_rows(tensor, selected.to(tensor.device))
            for name, tensor in self.tensors.items()
        }
        return replace(self, num_worlds=len(indices), tensors=tensors)

    def to(self, device: str) -> Snapshot:
        """The same snapshot on another device, ``cpu`` or ``cuda:N``. Tensors already on that device are not copied."""
        return replace(self, tensors={name: tensor.to(device) for name, tensor in self.tensors.items()})

    def save(self, path: str | Path) -> None:
        """Write it to a file atomically: a crash of the process or the machine leaves no partial file."""
        tensor_file.write(path, KIND, VERSION, self.tensors, self._facts())

    def to_bytes(self) -> bytes:
        """The bytes of the file that :meth:`save` writes."""
        return bytes(tensor_file.encode(KIND, VERSION, self.tensors, self._facts()))

    def _facts(self) -> dict[str, Any]:
        return {
            "world": self.world,
            "hash": self.hash,
            "autoreset": self.autoreset,
            "num_worlds": self.num_worlds,
            "shared": sorted(self.shared),
        }

    @classmethod
    def load(cls, path: str | Path, device: str = "cpu") -> Snapshot:
        """Load what :meth:`save` wrote. InputError where the file is missing, truncated or altered.

        Whether it fits a simulation is checked when it is restored.
        """
        target = devices.resolve(device)[0]
        contents = tensor_file.read(path, KIND, VERSION)
        return cls.from_parts(contents.tensors, contents.facts, printable_path(path)).to(str(target.alias))

    @classmethod
    def from_bytes(cls, data: bytes, source: str = DEFAULT_SOURCE) -> Snapshot:
        """The snapshot on the CPU that :meth:`to_bytes` wrote. InputError where the bytes are truncated or altered.

        ``source`` names the bytes in messages. Whether the snapshot fits a simulation is checked when it is restored.
        """
        contents = tensor_file.decode(bytearray(data), source, KIND, VERSION)
        return cls.from_parts(contents.tensors, contents.facts, source)

    @classmethod
    def from_parts(cls, tensors: Mapping[str, Any], facts: Mapping[str, Any], where: str) -> Snapshot:
        """The snapshot in a file ``where``; InputError where its parts are not consistent."""
        names, count, shared = ("world", "hash", "autoreset"), facts.get("num_worlds"), facts.get("shared")
        texts = all(isinstance(facts.get(name), str) for name in names)
        listed = isinstance(shared, list) and all(isinstance(name, str) for name in shared)
        if not texts or not listed or not tensor_file.is_int_in_range(count, 1, 2**31 - 1):
            raise InputError(f"{where} lacks what every snapshot has: use another file")
        assert isinstance(count, int) and isinstance(shared, list)
        for name, tensor in tensors.items():
            rows = tensor.shape[0] if tensor.ndim else 0
            if tensor.element_size() > 8 or rows == 0 or (name not in shared and rows != count):
                column = f"its column {name[:80]} has the shape {tuple(tensor.shape)}"
                raise InputError(f"{where} holds {count} worlds, but {column}: use another file")
        return cls(facts["world"], facts["hash"], facts["autoreset"], count, dict(tensors), frozenset(shared), where)


def copy_columns(simulation: Simulation) -> dict[str, Any]:
    """Copies of all columns that a later step depends on, by ``Table.name``, as PyTorch tensors on their device."""
    return {name: column.torch().clone() for name, column in state_columns(simulation).items()}


def snapshot(simulation: Simulation, worlds: Any = None) -> Snapshot:
    """The state of all worlds, or of ``worlds`` in that order; see ``Simulation.snapshot``."""
    columns, definition = state_columns(simulation), simulation.definition
    shared = frozenset(
        name
        for name, c in columns.items()
        if c.total is not None or c.shape[0] != simulation.num_worlds or (is_config(c) and c.shape[0] == 1)
    )
    if worlds is None:
        count, tensors = simulation.num_worlds, copy_columns(simulation)
    else:
        require_rows_per_world(simulation)
        ids = world_ids(simulation, worlds, "worlds")
        count = len(ids)
        tensors = {
            name: column.torch().clone() if name in shared else gather_rows(column.torch(), ids)
            for name, column in columns.items()
        }
    versions = _versions(tensors)
    return Snapshot(
        definition.id, definition.hash, simulation.autoreset, count, tensors, shared, tensor_versions=versions
    )


def _versions(tensors: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    """The identity of each tensor, and the number of its in-place changes by PyTorch."""
    return tuple((id(tensor), tensor._version) for tensor in tensors.values())


def restore(
    simulation: Simulation, tensors: Mapping[str, Any], where: str = DEFAULT_SOURCE, known: bool = False
) -> None:
    """Restore what :func:`copy_columns` copied; the steps that follow give the same bits.

    Raises InputError, and writes nothing, where the state is of another world or size, or where a number lies outside
    the range that its component declares. ``where`` is the name of the state in messages. ``known`` means that its
    numbers come from a simulation of this process, so that they are not validated.
    """
    tensors = with_seeds(simulation, tensors)
    columns = state_columns(simulation)
    tensors = _with_own_width(simulation, columns, tensors)
    _check_columns(simulation, columns, tensors)
    for name, column in columns.items():
        shape = tuple(tensors[name].shape)
        allowed = (
            [(rows, *column.shape[1:]) for rows in (1, simulation.num_worlds)] if is_config(column) else [column.shape]
        )
        if shape not in allowed:
            holds = f"this simulation of {simulation.num_worlds} worlds holds {column.shape}"
            raise InputError(f"the saved column {name} has shape {shape}, but {holds}")
    check_counts(simulation, tensors, where)
    if not known:
        check_values(simulation, columns, tensors, where)
    tensors = with_one_copy(columns, tensors)
    for table in simulation.tables.values():
        for column in table.all_columns.values():
            if column.field.transient:  # an interrupted step may have left values
                column.torch().zero_()
    for name, column in columns.items():
        if is_config(column) and len(tensors[name]) != column.shape[0]:
            simulation._resize_config(column, len(tensors[name]))
        column.torch().copy_(tensors[name])
        simulation.config_version += is_config(column)
    simulation.note_external_change()


def restore_worlds(simulation: Simulation, saved: Snapshot, worlds: Any = None) -> None:
    """Restore a snapshot, or copy its worlds onto ``worlds``; see ``Simulation.restore``. An error writes nothing."""
    _check_origin(simulation, saved)
    if worlds is None:
        if saved.num_worlds != simulation.num_worlds:
            counts = f"the snapshot holds {saved.num_worlds} worlds, but this simulation has {simulation.num_worlds}"
            raise InputError(f"{counts}: say with worlds=... which of them it is for")
        restore(simulation, saved.tensors, saved.source, saved.is_pristine)
        return
    require_rows_per_world(simulation)
    targets = world_ids(simulation, worlds, "worlds", distinct=True)
    if saved.num_worlds not in (1, len(targets)):
        counts = f"the snapshot holds {saved.num_worlds} worlds, which cannot be put onto {len(targets)}"
        raise InputError(f"{counts}: name as many, or take one of them")
    saved_tensors = with_seeds(simulation, saved.tensors)
    columns = state_columns(simulation)
    saved = replace(saved, tensors=_with_own_width(simulation, columns, saved_tensors))
    _check_columns(simulation, columns, saved.tensors)
    for name, column in columns.items():
        shape = tuple(saved.tensors[name].shape)
        if shape[0] not in (1, saved.num_worlds) or shape[1:] != column.shape[1:]:
            raise InputError(
                f"the saved column {name} has shape {shape}, but a world of this simulation holds {column.shape[1:]}"
            )
    check_counts(simulation, saved.tensors, saved.source)
    if not saved.is_pristine:
        check_values(simulation, columns, saved.tensors, saved.source)
    tensors = with_one_copy(columns, saved.tensors)
    for name, column in columns.items():
        rows = tensors[name]
        if is_config(column):
            rows = rows.to(column.torch().device)
            if len(rows) == column.shape[0] == 1 and bool((int_view(rows) == int_view(column.torch())).all()):
                continue
            if column.shape[0] == 1:
                simulation._resize_config(column, simulation.num_worlds)
            simulation.config_version += 1
        scatter_rows(column.torch(), targets, rows)
    simulation.note_external_change()


def _check_origin(simulation: Simulation, saved: Any) -> None:
    if not isinstance(saved, Snapshot):
        problem = f"a simulation is restored from a snapshot, not from {type(saved).__name__}"
        raise InputError(f"{problem}: take one with sim.snapshot() or Snapshot.load(path)")
    definition = simulation.definition
    if saved.world != definition.id:
        raise InputError(f"this is a snapshot of world '{saved.world}', not one of world '{definition.id}'")
    if not definition.accepts_hash(saved.hash):
        raise InputError(
            f"this is a snapshot of another '{definition.id}': its entities, components, systems or constants have "
            "changed since, so that it would not continue as before; go back to the world that it was taken of"
        )
    if saved.autoreset != simulation.autoreset:
        modes = f"with autoreset '{saved.autoreset}', and this one has '{simulation.autoreset}'"
        raise InputError(f"this is a snapshot of a simulation {modes}: use the same")


def _with_own_width(
    simulation: Simulation, columns: Mapping[str, Column], tensors: Mapping[str, Any]
) -> Mapping[str, Any]:
    """Real numbers with the width of this device, for worlds whose 64-bit numbers are 32-bit numbers on CUDA."""
    if not simulation.definition.cuda_float32:
        return tensors
    widths = {name: column.torch().dtype for name, column in columns.items() if column.torch().is_floating_point()}
    return {
        name: tensor.to(widths[name]) if name in widths and tensor.is_floating_point() else tensor
        for name, tensor in tensors.items()
    }


def _check_columns(simulation: Simulation, columns: Mapping[str, Column], tensors: Mapping[str, Any]) -> None:
    if set(tensors) != set(columns):
        different = ", ".join(sorted(set(tensors) ^ set(columns))[:4])
        problem = f"the saved state is not one of world '{simulation.definition.id}'"
        raise InputError(f"{problem}: it differs in the columns {different}")
    for name, column in columns.items():
        saved, expected = tensors[name].dtype, column.torch().dtype
        if saved != expected:
            raise InputError(f"the saved column {name} holds {saved}, but this simulation holds {expected}")
