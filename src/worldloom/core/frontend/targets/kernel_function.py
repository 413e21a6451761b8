"""The Warp function of a system."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from worldloom.core.frontend.analysis.overwritten import overwritten_arrays
from worldloom.core.frontend.targets.accessors import array_code, call_start, numbers_code, with_shared_column
from worldloom.core.frontend.targets.kernel_names import (
    SCALAR_PARAMETERS,
    column_argument,
    register_name,
)
from worldloom.core.frontend.targets.kernel_target import KernelTarget
from worldloom.core.model.columns import FAULT_COLUMNS, WORLD, ColumnKey
from worldloom.core.model.entity import ENGINE_FIELDS
from worldloom.core.model.fields import Field

if TYPE_CHECKING:
    from worldloom.core.frontend.system import System
    from worldloom.core.frontend.translator import Translator


CLEARING = "clear_"
"""The start of the names of systems of the engine that clear components where an episode begins."""


@dataclass
class KernelFunction:
    """The Warp function of one system and kind: its parameters, its body and how kernels call it.

    ``in_place`` are configuration vectors that it gets as arrays of their numbers. ``changing`` are the columns that a
    kernel with this function writes; None on the CPU. ``shared`` are those that its kernel keeps in shared memory.
    """

    name: str
    system: System
    target: KernelTarget
    flow: Translator
    value_parameters: list[str]
    body: str
    in_place: frozenset[ColumnKey] = frozenset()
    changing: set[ColumnKey] | None = None
    shared: frozenset[ColumnKey] = frozenset()

    @property
    def scalars(self) -> list[str]:
        return [s for s in SCALAR_PARAMETERS if s in self.target.scalars]

    @property
    def only_clears(self) -> bool:
        """Whether it is a system of the engine that clears components where an episode begins."""
        return self.system.engine and self.system.name.startswith(CLEARING)

    @property
    def arrays(self) -> dict[ColumnKey, Field]:
        """The columns that it takes as arrays."""
        columns = dict(self.target.columns)
        if self.target.faults:
            columns.update({c: ENGINE_FIELDS[c[1]] for c in FAULT_COLUMNS})
        return columns

    @functools.cached_property
    def overwritten(self) -> frozenset[ColumnKey]:
        """The arrays of the own row of which it assigns every element before it reads any."""
        found: set[ColumnKey] = set()
        own, column_of = self.target.local_write, self.target.counts.column
        for table, parameter in (
            (self.target.table, self.system.entity_parameter),
            (WORLD, self.system.world_parameter),
        ):
            columns = self.target.columns.items()
            arrays = {c[1]: f for c, f in columns if f.is_array and c in own and c == column_of(table, c[1])}
            if parameter is not None:
                found |= {column_of(table, name) for name in overwritten_arrays(self.flow, parameter, arrays)}
        return frozenset(found)

    def code(self, types: dict[str, Any]) -> str:
        head = [
            f"{register_name(column)}: {numbers_code(field.dtype)}" if column in self.in_place else parameter
            for parameter, (column, field) in zip(self.value_parameters, self.target.inputs.items(), strict=True)
        ]
        head += [f"{s}: wp.int32" for s in self.scalars]
        head += [f"{column_argument(c)}: {array_code(f, types)}" for c, f in self.arrays.items()]
        if self.target.faults:
            head.append("errors: wp.array2d(dtype=wp.int32)")
        return f"@wp.func\ndef {self.name}({', '.join(head)}):\n{self._body_of_kernel()}\n"

    def _body_of_kernel(self) -> str:
        """The body, with columns in shared memory, and columns that its kernels do not change loaded as constants."""
        body = self.body
        for column in sorted(self.shared):
            body = with_shared_column(body, column, self.target.columns[column])
        if self.changing is not None:
            for column, field in self.target.columns.items():
                if column not in self.changing:
                    name = column_argument(column)
                    body = body.replace(call_start(name, field), call_start(name, field, constant=True))
        return body

    def call(self, ordinal: int, rows: Mapping[ColumnKey, str] | None = None) -> str:
        """The call in a kernel whose local variables have the canonical names.

        ``rows`` are the variables for columns whose rows are not in the memory of the column.
        """
        arguments = [register_name(c) for c in self.target.inputs]
        arguments += [str(ordinal) if s == "system" else s for s in self.scalars]
        arguments += [(rows or {}).get(c) or column_argument(c) for c in self.arrays]
        if self.target.faults:
            arguments.append("errors")
        call = f"{self.name}({', '.join(arguments)})"
        outputs = ", ".join(register_name(c) for c in self.target.outputs)
        return f"{outputs} = {call}" if outputs else call
