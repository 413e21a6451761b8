"""The state of a simulation: which columns it consists of, and how the rows of single worlds in them are reached."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.model.fields import Role
from worldloom.core.runtime.table import Column

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation


def state_columns(simulation: Simulation) -> dict[str, Column]:
    """Every column that means something between two steps, by ``Table.name``: all that a later step depends on."""
    found = [c for t in simulation.tables.values() for c in (*t, *t.extra.values())]
    return {
        c.name: c for c in sorted(found, key=lambda c: c.view_of is not None)
    }  # what lies within another is written after it


def is_config(column: Column) -> bool:
    """Whether it holds a configuration, which may be one value for the batch."""
    return column.field.role is Role.CONFIG


def require_rows_per_world(simulation: Simulation, but: Collection[str] = ()) -> None:
    """InputError where the memory of some column, but for those named, is not divided among the worlds, so that none can be taken by itself."""
    for name, column in state_columns(simulation).items():
        if (
            name not in but
            and not is_config(column)
            and (column.total is not None or column.shape[0] != simulation.num_worlds)
        ):
            raise InputError(
                f"the worlds share the rows of {name}: only a snapshot of all of them can be taken and put back"
            )


def int_view(tensor: Any) -> Any:
    """The memory of a tensor as whole numbers of the same width: copies keep every bit, and every width can be indexed."""
    import torch

    return tensor.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()])


def gather_rows(tensor: Any, worlds: Any) -> Any:
    """A copy of the rows of ``worlds`` in a tensor whose first axis is the worlds."""
    return int_view(tensor).index_select(0, worlds).view(tensor.dtype)


def scatter_rows(target: Any, worlds: Any, rows: Any) -> None:
    """Write ``rows``, one per world of ``worlds`` or one for all, into the tensor ``target`` whose first axis is the worlds."""
    source = int_view(rows.to(target.device))
    int_view(target).index_copy_(0, worlds, source.expand(len(worlds), *source.shape[1:]))


def world_ids(simulation: Simulation, ids: Any, what: str, *, distinct: bool = False) -> Any:
    """Numbers of worlds, counted from 0 in the batch, as an int64 tensor of shape (n,) on the simulation's device.

    Those that lie on a GPU are taken as they are, since looking at them would mean waiting for it.
    """
    import torch

    device = torch.device(str(simulation.device.alias))
    if isinstance(ids, torch.Tensor) and ids.is_cuda:
        if ids.dtype not in (torch.int32, torch.int64) or ids.ndim > 1:
            raise InputError(
                f"{what} are numbers of worlds, int32 or int64 of shape (n,), not {str(ids.dtype).removeprefix('torch.')} of shape {tuple(ids.shape)}"
            )
        return ids.reshape(-1).to(device, torch.int64)
    found = np.asarray(ids)
    if found.size == 0:
        found = found.astype(np.int64)
    if found.dtype.kind not in "iu" or found.ndim > 1:
        raise InputError(
            f"{what} are numbers of worlds, one or a list of them, not {found.dtype.name} of shape {found.shape}"
        )
    flat = found.reshape(-1).astype(np.int64)
    wrong = flat[(flat < 0) | (flat >= simulation.num_worlds)]
    if wrong.size:
        raise InputError(
            f"{what} name world {wrong[0]}, but this simulation has the worlds 0 to {simulation.num_worlds - 1}"
        )
    often = np.flatnonzero(np.bincount(flat, minlength=1) > 1) if distinct else np.empty(0, np.int64)
    if often.size:
        raise InputError(f"{what} name world {often[0]} more than once: name each world once")
    return torch.from_numpy(flat).to(device)
