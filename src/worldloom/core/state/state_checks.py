"""Validation of restored states: every number from a file lies in the range that its component declares, or the state is refused.

Engine columns have ranges of their own: truth values are 0 or 1, references name an entity or none, steps are not negative, populations
hold no more entities than there is room for. Actions are not checked here: a choice that does not exist is a fault of its world in the next
step, and systems read choice 0 in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.model.columns import WORLD
from worldloom.core.model.entity import ENGINE_FIELDS
from worldloom.core.model.fields import scalar_of
from worldloom.core.model.population import SERIAL
from worldloom.core.runtime.config_values import check_range
from worldloom.core.runtime.table import Column, PopulationTable, Table
from worldloom.core.state.columns import int_view, is_config

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

_MOST = {4: 2**31 - 1, 8: 2**63 - 1}
_ENGINE_RANGES: dict[str, tuple[int, int]] = {"step": (0, _MOST[4]), "episode": (-1, _MOST[4])}


def check_counts(simulation: Simulation, tensors: Mapping[str, Any], where: str) -> None:
    """Refuse a state with more entities than there is room for: InputError with the population and the number."""
    for table in simulation.tables.values():
        if isinstance(table, PopulationTable):
            problem = table.count_problem(tensors)
            if problem is not None:
                raise InputError(f"{where} cannot be restored, since {problem}: use another file")


def check_values(simulation: Simulation, columns: Mapping[str, Column], tensors: Mapping[str, Any], where: str) -> None:
    """Refuse a state whose numbers cannot be: InputError with the column, the world, the number and its range.

    Args:
        simulation: What the state is to be restored into.
        columns: Its columns by ``Table.name``.
        tensors: The state, one tensor for each column, of matching types and shapes, on any device.
        where: What holds the state, for the message.
    """
    for column in columns.values():
        if is_config(column):
            _check_config(column, tensors, where)
    found = list(_wrong_values(simulation, columns, tensors))
    if found and _any([wrong for _, wrong, _ in found]):
        for column, wrong, requirement in found:
            if bool(wrong.any()):
                raise _refusal(column, tensors[column.name], wrong, requirement, where)
    for column in columns.values():
        if column.field.check is not None:
            _run_check(simulation, column, tensors, where)


def _wrong_values(
    simulation: Simulation, columns: Mapping[str, Column], tensors: Mapping[str, Any]
) -> Iterator[tuple[Column, Any, str]]:
    """The columns with a range, which of their numbers lie outside of it, and the range in words. Nothing waits for a GPU here."""
    for name, column in columns.items():
        tensor, table = tensors[name], simulation.tables[column.table]
        limits = _limits(simulation, column)
        if column.field.dtype is wp.bool:
            wrong, requirement = int_view(tensor) > 1, "a truth value, 0 or 1"
        elif limits is not None:
            numbers = (
                tensor.long()
                if not tensor.is_floating_point() and not tensor.dtype.is_signed and tensor.element_size() > 1
                else tensor
            )
            wrong, requirement = (
                ~((numbers >= limits[0]) & (numbers <= limits[1])),
                f"between {limits[0]:,} and {limits[1]:,}",
            )
        else:
            continue
        held = _occupied(table, tensors)
        if held is not None:
            wrong = wrong & held.reshape(*held.shape, *[1] * (wrong.ndim - held.ndim))
        yield column, wrong, requirement


def _limits(simulation: Simulation, column: Column) -> tuple[float, float] | None:
    """The least and the greatest number that a column may hold; None where any number will do."""
    field = column.field
    if is_config(column):
        return simulation.definition.limits.get(field.name)
    if column.table == WORLD and field.name in _ENGINE_RANGES and field is ENGINE_FIELDS.get(field.name):
        return _ENGINE_RANGES[field.name]
    if column.table == WORLD and field.name.endswith("__dropped"):
        return 0, _MOST[4]
    if field.name == SERIAL:
        return -1, _MOST[8]
    if field.ref is not None:
        kind = field.ref if isinstance(field.ref, str) else field.ref.__name__
        return -1, _MOST[8] if kind in simulation.definition.populations else simulation.definition.rows.get(
            kind, 2**31
        ) - 1
    return field.valid_range


def _check_config(column: Column, tensors: Mapping[str, Any], where: str) -> None:
    """What holds of a configuration that is set holds of one that is restored."""
    try:
        check_range(column, tensors[column.name].cpu().numpy())
    except InputError as error:
        raise InputError(f"{where} cannot be restored, since {error}: use another file") from None


def _occupied(table: Table, tensors: Mapping[str, Any]) -> Any:
    """Which rows of a population hold an entity; None where all of a table do. The others hold what was there before."""
    return table.occupied_rows_in(tensors) if isinstance(table, PopulationTable) else None


def _any(masks: list[Any]) -> bool:
    """Whether any of these masks has a true element; waits for a GPU once."""
    import torch

    return bool(torch.stack([mask.any() for mask in masks]).any())


def _refusal(column: Column, tensor: Any, wrong: Any, requirement: str, where: str) -> InputError:
    place = [int(n) for n in wrong.nonzero()[0]]
    number = int_view(tensor)[tuple(place)].item() if column.field.dtype is wp.bool else tensor[tuple(place)].item()
    shown = f"{number:,}" if scalar_of(column.field.dtype) is not wp.float64 else repr(number)
    wrong_number = f"{_located(column, place[0])} holds {shown}, and it must be {requirement}"
    return InputError(f"{where} cannot be restored, since {wrong_number}: use another file")


def _run_check(simulation: Simulation, column: Column, tensors: Mapping[str, Any], where: str) -> None:
    """What a component itself says of its values."""
    assert column.field.check is not None
    values = tensors[column.name].cpu().numpy()
    depth = values.ndim - len(column.field.value_shape)
    lead = values.shape[:depth]
    rows = values.reshape(-1, *column.field.value_shape)
    held = _occupied(simulation.tables[column.table], tensors)
    kept = np.arange(len(rows)) if held is None else np.flatnonzero(held.cpu().numpy().reshape(-1))
    for requirement, met in column.field.check(rows[kept]).items():
        failed = np.flatnonzero(~np.asarray(met, dtype=bool))
        if failed.size:
            first = int(np.unravel_index(kept[failed[0]], lead)[0])
            raise InputError(
                f"{where} cannot be restored, since {_located(column, first)} must have {requirement}: use another file"
            )


def _located(column: Column, first: int) -> str:
    """A column and where in it: a world, or a row where the worlds share the rows."""
    if is_config(column):
        return f"the configuration {column.name}"
    return f"{column.name} {'in row' if column.total is not None else 'of world'} {first}"
