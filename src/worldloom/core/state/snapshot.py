"""Snapshots: the whole state of a simulation, or of some of its worlds, taken, put back, and kept in files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.core.base import device as devices
from worldloom.core.base import shards, tensor_file
from worldloom.core.base.errors import InputError
from worldloom.core.base.paths import printable_path
from worldloom.core.runtime.table import Column
from worldloom.core.state.columns import (
    gather_rows,
    int_view,
    is_config,
    require_rows_per_world,
    scatter_rows,
    state_columns,
    world_ids,
)
from worldloom.core.state.state_checks import check_counts, check_values

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

KIND, VERSION = "snapshot", 1
DEFAULT_SOURCE = "the saved state"
"""What messages call a state that came from no file."""


@dataclass(frozen=True)
class Snapshot:
    """All that later steps of some worlds depend on; made by ``Simulation.snapshot``.

    Attributes:
        world: The id of the world's definition.
        hash: The digest of its definition.
        autoreset: The autoreset of the simulation that it was taken from.
        num_worlds: How many worlds it holds.
        tensors: Every column by ``Table.name``, with the worlds as the first axis.
        shared: Names of the columns that hold one value for all worlds.
        source: What messages call it: the file that it was loaded from.
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
        """Whether it was taken in this process and its tensors have not been changed since, so that its numbers need no check."""
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
        """A snapshot of some of its worlds, by their places in this one, in the given order."""
        import torch

        places = np.asarray(ids)
        if places.ndim != 1 or places.dtype.kind not in "iu" or not places.size:
            raise InputError(f"worlds of a snapshot are named by a list of whole numbers, not by {ids!r}")
        wrong = places[(places < 0) | (places >= self.num_worlds)]
        if wrong.size:
            raise InputError(f"this snapshot has the worlds 0 to {self.num_worlds - 1}, not {wrong[0]}")
        chosen = torch.from_numpy(places.astype(np.int64))
        tensors = {
            name: tensor if name in self.shared else gather_rows(tensor, chosen.to(tensor.device))
            for name, tensor in self.tensors.items()
        }
        return replace(self, num_worlds=len(places), tensors=tensors)

    def to(self, device: str) -> Snapshot:
        """The same on another device, ``cpu`` or ``cuda:N``; itself where it is there already."""
        return replace(self, tensors={name: tensor.to(device) for name, tensor in self.tensors.items()})

    def save(self, path: str | Path) -> None:
        """Write it to a file, which is there as a whole or not at all, even if the process or the machine dies meanwhile."""
        facts = {
            "world": self.world,
            "hash": self.hash,
            "autoreset": self.autoreset,
            "num_worlds": self.num_worlds,
            "shared": sorted(self.shared),
        }
        tensor_file.write(path, KIND, VERSION, self.tensors, facts)

    @classmethod
    def load(cls, path: str | Path, device: str = "cpu") -> Snapshot:
        """What :meth:`save` wrote. InputError where the file is missing, cut short or altered; whether it fits is seen when it is restored."""
        onto = devices.resolve(device)[0]
        contents = tensor_file.read(path, KIND, VERSION)
        return cls.from_parts(contents.tensors, contents.facts, printable_path(path)).to(str(onto.alias))

    @classmethod
    def from_parts(cls, tensors: Mapping[str, Any], facts: Mapping[str, Any], where: str) -> Snapshot:
        """The snapshot that a file ``where`` holds; InputError where its parts do not fit together."""
        names, count, shared = ("world", "hash", "autoreset"), facts.get("num_worlds"), facts.get("shared")
        if any(not isinstance(facts.get(name), str) for name in names) or not tensor_file.is_int_in_range(
            count, 1, 2**31 - 1
        ):
            raise InputError(f"{where} lacks what every snapshot has: use another file")
        if not isinstance(shared, list) or any(not isinstance(name, str) for name in shared):
            raise InputError(f"{where} lacks what every snapshot has: use another file")
        assert isinstance(count, int)
        for name, tensor in tensors.items():
            rows = tensor.shape[0] if tensor.ndim else 0
            if tensor.element_size() > 8 or rows == 0 or (name not in shared and rows != count):
                raise InputError(
                    f"{where} holds {count} worlds, but its column {name[:80]} has the shape {tuple(tensor.shape)}: use another file"
                )
        return cls(facts["world"], facts["hash"], facts["autoreset"], count, dict(tensors), frozenset(shared), where)


def copy_columns(simulation: Simulation) -> dict[str, Any]:
    """A copy of every column, as PyTorch tensors on the simulation's device, by ``Table.name``. It is all that a later step depends on."""
    return {name: column.torch().clone() for name, column in state_columns(simulation).items()}


def snapshot(simulation: Simulation, worlds: Any = None) -> Snapshot:
    """The state of all worlds, or of ``worlds`` in that order; see ``Simulation.snapshot``."""
    columns, made = state_columns(simulation), simulation.definition
    shared = frozenset(
        name
        for name, c in columns.items()
        if c.total is not None or c.shape[0] != simulation.num_worlds or (is_config(c) and c.shape[0] == 1)
    )
    if worlds is None:
        tensors = copy_columns(simulation)
        return Snapshot(
            made.id,
            made.hash,
            simulation.autoreset,
            simulation.num_worlds,
            tensors,
            shared,
            tensor_versions=_versions(tensors),
        )
    require_rows_per_world(simulation)
    ids = world_ids(simulation, worlds, "worlds")
    tensors = {
        name: column.torch().clone() if name in shared else gather_rows(column.torch(), ids)
        for name, column in columns.items()
    }
    return Snapshot(
        made.id, made.hash, simulation.autoreset, len(ids), tensors, shared, tensor_versions=_versions(tensors)
    )


def _versions(tensors: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    """Which tensors these are, and how often PyTorch has changed each in place."""
    return tuple((id(tensor), tensor._version) for tensor in tensors.values())


def restore(
    simulation: Simulation, tensors: Mapping[str, Any], where: str = DEFAULT_SOURCE, known: bool = False
) -> None:
    """Put back what :func:`take` took; steps that follow give the same bits.

    InputError where it is of another world or size, or a number in it lies outside of the range that its component declares. Nothing is
    written then. ``where`` is what the message calls the state; ``known`` that its numbers come from a simulation of this process.
    """
    columns = state_columns(simulation)
    _check_columns(simulation, columns, tensors)
    for name, column in columns.items():
        shape = tuple(tensors[name].shape)
        allowed = (
            [(rows, *column.shape[1:]) for rows in (1, simulation.num_worlds)] if is_config(column) else [column.shape]
        )
        if shape not in allowed:
            raise InputError(
                f"the saved column {name} has shape {shape}, but this simulation of {simulation.num_worlds} worlds holds {column.shape}"
            )
    check_counts(simulation, tensors, where)
    if not known:
        check_values(simulation, columns, tensors, where)
    for table in simulation.tables.values():
        for column in table.columns.values():
            if column.field.transient:  # left over where a step was broken off
                column.torch().zero_()
    for name, column in columns.items():
        if is_config(column) and len(tensors[name]) != column.shape[0]:
            _resize(simulation, column, len(tensors[name]))
        column.torch().copy_(tensors[name])
        simulation.config_version += is_config(column)
    simulation.note_external_change()


def restore_worlds(simulation: Simulation, saved: Snapshot, worlds: Any = None) -> None:
    """Put back a snapshot, or put its worlds onto ``worlds``; see ``Simulation.restore``. Nothing is written where something does not fit."""
    _check_origin(simulation, saved)
    if worlds is None:
        if saved.num_worlds != simulation.num_worlds:
            raise InputError(
                f"the snapshot holds {saved.num_worlds} worlds, but this simulation has {simulation.num_worlds}: say with worlds=... which of them it is for"
            )
        restore(simulation, saved.tensors, saved.source, saved.is_pristine)
        return
    require_rows_per_world(simulation)
    targets = world_ids(simulation, worlds, "worlds", distinct=True)
    if saved.num_worlds not in (1, len(targets)):
        raise InputError(
            f"the snapshot holds {saved.num_worlds} worlds, which cannot be put onto {len(targets)}: name as many, or take one of them"
        )
    columns = state_columns(simulation)
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
    for name, column in columns.items():
        rows = saved.tensors[name]
        if is_config(column):
            rows = rows.to(column.torch().device)
            if len(rows) == column.shape[0] == 1 and bool((int_view(rows) == int_view(column.torch())).all()):
                continue
            if column.shape[0] == 1:
                _resize(simulation, column, simulation.num_worlds)
            simulation.config_version += 1
        scatter_rows(column.torch(), targets, rows)
    simulation.note_external_change()


def _check_origin(simulation: Simulation, saved: Any) -> None:
    if not isinstance(saved, Snapshot):
        raise InputError(
            f"a simulation is restored from a snapshot, not from {type(saved).__name__}: take one with sim.snapshot() or Snapshot.load(path)"
        )
    made = simulation.definition
    if saved.world != made.id:
        raise InputError(f"this is a snapshot of world '{saved.world}', not one of world '{made.id}'")
    if saved.hash != made.hash:
        raise InputError(
            f"this is a snapshot of another '{made.id}': its entities, components, systems or constants have changed since, "
            "so that it would not go on as it was; go back to the world that it was taken of"
        )
    if saved.autoreset != simulation.autoreset:
        raise InputError(
            f"this is a snapshot of a simulation with autoreset '{saved.autoreset}', and this one has '{simulation.autoreset}': use the same"
        )


def _check_columns(simulation: Simulation, columns: Mapping[str, Column], tensors: Mapping[str, Any]) -> None:
    if set(tensors) != set(columns):
        odd = ", ".join(sorted(set(tensors) ^ set(columns))[:4])
        raise InputError(
            f"the saved state is not one of world '{simulation.definition.id}': it differs in the columns {odd}"
        )
    for name, column in columns.items():
        if tensors[name].dtype != column.torch().dtype:
            raise InputError(
                f"the saved column {name} holds {tensors[name].dtype}, but this simulation holds {column.torch().dtype}"
            )


def _resize(simulation: Simulation, column: Column, rows: int) -> None:
    """Let a configuration hold one value, or one per world."""
    with shards.WARP_LOCK:
        column.resize(rows)
    simulation._invalidate_graphs()
