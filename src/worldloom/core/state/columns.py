"""The columns that make up the state of a simulation, and access to the rows of single worlds."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.model.columns import WORLD
from worldloom.core.model.fields import SEED_HIGH
from worldloom.core.runtime.column import Column

SEED_COLUMN = f"{WORLD}.{SEED_HIGH}"

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation


def state_columns(simulation: Simulation) -> dict[str, Column]:
    """Every column that persists between two steps, by ``Table.name``: all that a later step depends on.

    Views of other columns come last, so that they are written after them. Agent rows come after the entities whose
    memory they share, see :func:`with_one_copy`.
    """
    columns = [c for t in simulation.tables.values() for c in t]
    if not simulation.wide_seeds:
        columns = [c for c in columns if c.name != SEED_COLUMN]
    return {c.name: c for c in sorted(columns, key=lambda c: c.view_of is not None)}


def with_seeds(simulation: Simulation, tensors: Mapping[str, Any]) -> Mapping[str, Any]:
    """A saved state with the upper halves of seeds where the simulation needs them: states without them have 0."""
    import torch

    if SEED_COLUMN in tensors:
        simulation.wide_seeds = True
    elif simulation.wide_seeds:
        zero = torch.zeros_like(simulation.world[SEED_HIGH].torch()[:1])
        return {**tensors, SEED_COLUMN: zero}
    return tensors


def with_one_copy(columns: Mapping[str, Column], tensors: Mapping[str, Any]) -> dict[str, Any]:
    """Saved columns of which those of agent rows hold the values of the entities whose memory they share.

    Where agents have copies, a step publishes the values of entities, and a saved state may have others in its agent
    rows. Free rows are zero there, and undefined among the entities.
    """
    import torch

    kept = dict(tensors)
    for name, column in columns.items():
        if column.same_as is not None:
            values, counts = tensors[column.same_as.name], tensors[f"{WORLD}.{column.same_as.table}__count"]
            held = torch.arange(column.count, device=values.device) < counts[:, None].to(values.device)
            free = ~held.reshape(*held.shape, *[1] * (values.ndim - 2))
            kept[name] = int_view(values).masked_fill(free, 0).view(values.dtype)
    return kept


def is_config(column: Column) -> bool:
    """Whether the column is a configuration, or the upper half of the seeds, which may hold one value for the batch."""
    return column.field.batch_wide


def require_rows_per_world(simulation: Simulation, but: Collection[str] = ()) -> None:
    """InputError where worlds share the rows of a column that ``but`` does not name: no world can be copied alone."""
    for name, column in state_columns(simulation).items():
        if name in but or is_config(column):
            continue
        if column.total is not None or column.shape[0] != simulation.num_worlds:
            raise InputError(
                f"the worlds share the rows of {name}: only a snapshot of all of them can be taken and put back"
            )


def int_view(tensor: Any) -> Any:
    """The memory of a tensor as integers of the same width: copies keep every bit, and every width can be indexed."""
    import torch

    return tensor.view({1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()])


def gather_rows(tensor: Any, worlds: Any) -> Any:
    """A copy of the rows of ``worlds`` in a tensor whose first axis is the worlds."""
    return int_view(tensor).index_select(0, worlds).view(tensor.dtype)


def scatter_rows(target: Any, worlds: Any, rows: Any) -> None:
    """Write ``rows``, one per world of ``worlds`` or one for all, into ``target``, whose first axis is the worlds."""
    source = int_view(rows.to(target.device))
    int_view(target).index_copy_(0, worlds, source.expand(len(worlds), *source.shape[1:]))


def world_ids(simulation: Simulation, ids: Any, what: str, *, distinct: bool = False) -> Any:
    """Indices of worlds in the batch as an int64 tensor of shape (n,) on the simulation's device.

    Indices on a GPU are not validated, which avoids a device synchronization.
    """
    import torch

    device = torch.device(str(simulation.device.alias))
    if isinstance(ids, torch.Tensor) and ids.is_cuda:
        if ids.dtype not in (torch.int32, torch.int64) or ids.ndim > 1:
            actual = f"{str(ids.dtype).removeprefix('torch.')} of shape {tuple(ids.shape)}"
            raise InputError(f"{what} are numbers of worlds, int32 or int64 of shape (n,), not {actual}")
        return ids.reshape(-1).to(device, torch.int64)
    array = np.asarray(ids)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iu" or array.ndim > 1:
        actual = f"{array.dtype.name} of shape {array.shape}"
        raise InputError(f"{what} are numbers of worlds, one or a list of them, not {actual}")
    flat = array.reshape(-1).astype(np.int64)
    wrong = flat[(flat < 0) | (flat >= simulation.num_worlds)]
    if wrong.size:
        raise InputError(
            f"{what} name world {wrong[0]}, but this simulation has the worlds 0 to {simulation.num_worlds - 1}"
        )
    repeated = np.flatnonzero(np.bincount(flat, minlength=1) > 1) if distinct else np.empty(0, np.int64)
    if repeated.size:
        raise InputError(f"{what} name world {repeated[0]} more than once: name each world once")
    return torch.from_numpy(flat).to(device)
