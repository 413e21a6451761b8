"""Validation of restored states: a state is refused where a number is outside the range that its component declares.

Engine columns have ranges of their own: truth values are 0 or 1, references name an entity or none, steps are not
negative, populations do not exceed their capacity. Actions are not checked here: an invalid choice is a fault of its
world in the next step, and systems read choice 0 instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.model.columns import WORLD
from worldloom.core.model.dtypes import scalar_of
from worldloom.core.model.entity import ENGINE_FIELDS
from worldloom.core.model.population import SERIAL
from worldloom.core.runtime.column import Column
from worldloom.core.runtime.config_values import check_range
from worldloom.core.runtime.table import PopulationTable, Table
from worldloom.core.state.columns import int_view, is_config

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

_MOST = {4: 2**31 - 1, 8: 2**63 - 1}
_ENGINE_RANGES: dict[str, tuple[int, int]] = {"step": (0, _MOST[4]), "episode": (-1, _MOST[4])}


def check_counts(simulation: Simulation, tensors: Mapping[str, Any], where: str) -> None:
    """Refuse a state whose populations exceed their capacity: InputError with the population and the number."""
    for table in simulation.tables.values():
        if isinstance(table, PopulationTable):
            problem = table.count_problem(tensors)
            if problem is not None:
                raise InputError(f"{where} cannot be restored, since {problem}: use another file")


def check_values(simulation: Simulation, columns: Mapping[str, Column], tensors: Mapping[str, Any], where: str) -> None:
    """Refuse a state with a number out of range: InputError with the column, the world, the number and its range.

    Args:
        simulation: The simulation that the state is restored into.
        columns: Its columns by ``Table.name``.
        tensors: The state, one tensor for each column, of matching types and shapes, on any device.
        where: The name of the state in the message.
    """
    for column in columns.values():
        if is_config(column):
            _check_config(column, tensors, where)
    checks = list(_wrong_values(simulation, columns, tensors))
    if checks and _any([wrong for _, wrong, _ in checks]):
        for column, wrong, requirement in checks:
            if bool(wrong.any()):
                raise _refusal(column, tensors[column.name], wrong, requirement, where)
    for column in columns.values():
        if column.field.check is not None:
            _run_check(simulation, column, tensors, where)


def _wrong_values(
    simulation: Simulation, columns: Mapping[str, Column], tensors: Mapping[str, Any]
) -> Iterator[tuple[Column, Any, str]]:
    """The columns with a range, a mask of their numbers outside of it, and the range in words. Nothing synchronizes."""
    for name, column in columns.items():
        tensor, table = tensors[name], simulation.tables[column.table]
        limits = _limits(simulation, column)
        if column.field.dtype is wp.bool:
            wrong, requirement = int_view(tensor) > 1, "a truth value, 0 or 1"
        elif limits is not None:
            unsigned = not tensor.is_floating_point() and not tensor.dtype.is_signed and tensor.element_size() > 1
            numbers = tensor.long() if unsigned else tensor
            wrong = ~((numbers >= limits[0]) & (numbers <= limits[1]))
            requirement = f"between {limits[0]:,} and {limits[1]:,}"
        else:
            continue
        occupied = _occupied(table, tensors)
        if occupied is not None:
            wrong = wrong & occupied.reshape(*occupied.shape, *[1] * (wrong.ndim - occupied.ndim))
        yield column, wrong, requirement


def _limits(simulation: Simulation, column: Column) -> tuple[float, float] | None:
    """The least and the greatest number that a column may hold; None where every number is valid."""
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
        fixed = simulation.definition.rows.get(kind, 2**31) - 1
        return -1, _MOST[8] if kind in simulation.definition.populations else fixed
    return field.valid_range


def _check_config(column: Column, tensors: Mapping[str, Any], where: str) -> None:
    """Validate a restored configuration like one that is set."""
    try:
        check_range(column, tensors[column.name].cpu().numpy())
    except InputError as error:
        raise InputError(f"{where} cannot be restored, since {error}: use another file") from None


def _occupied(table: Table, tensors: Mapping[str, Any]) -> Any:
    """Which rows of a population hold an entity; None where the table is not a population."""
    return table.occupied_rows_in(tensors) if isinstance(table, PopulationTable) else None


def _any(masks: list[Any]) -> bool:
    """Whether any of these masks has a true element; one device synchronization."""
    import torch

    return bool(torch.stack([mask.any() for mask in masks]).any())


def _refusal(column: Column, tensor: Any, wrong: Any, requirement: str, where: str) -> InputError:
    index = tuple(int(n) for n in wrong.nonzero()[0])
    number = int_view(tensor)[index].item() if column.field.dtype is wp.bool else tensor[index].item()
    text = f"{number:,}" if scalar_of(column.field.dtype) is not wp.float64 else repr(number)
    wrong_number = f"{_located(column, index[0])} holds {text}, and it must be {requirement}"
    return InputError(f"{where} cannot be restored, since {wrong_number}: use another file")


def _run_check(simulation: Simulation, column: Column, tensors: Mapping[str, Any], where: str) -> None:
    """Run the check that a component declares for its values."""
    assert column.field.check is not None
    values = tensors[column.name].cpu().numpy()
    leading_axes = values.ndim - len(column.field.value_shape)
    leading_shape = values.shape[:leading_axes]
    rows = values.reshape(-1, *column.field.value_shape)
    occupied = _occupied(simulation.tables[column.table], tensors)
    indices = np.arange(len(rows)) if occupied is None else np.flatnonzero(occupied.cpu().numpy().reshape(-1))
    for requirement, met in column.field.check(rows[indices]).items():
        failed = np.flatnonzero(~np.asarray(met, dtype=bool))
        if failed.size:
            first = int(np.unravel_index(indices[failed[0]], leading_shape)[0])
            problem = f"{_located(column, first)} must have {requirement}"
            raise InputError(f"{where} cannot be restored, since {problem}: use another file")


def _located(column: Column, first: int) -> str:
    """The name of a column with a world, or with a row where the worlds share the rows."""
    if is_config(column):
        return f"the configuration {column.name}"
    return f"{column.name} {'in row' if column.total is not None else 'of world'} {first}"
