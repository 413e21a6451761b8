"""Functions of kernels in which a warp copies or clears components of a row, all loads before the first store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import warp as wp

from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.model.dtypes import is_composite, scalar_of, shape_of
from worldloom.core.model.fields import Field

MAX_LOADS = 32
"""Numbers that a thread holds at most; longer rows are copied by loops."""


@dataclass(frozen=True)
class RowCopy:
    """A function that copies components between two rows of columns, or clears them.

    Attributes:
        name: Its name.
        columns: Annotations of the columns that it takes: those of the copy, each followed by that of the original.
        numbers: For each component the type of its numbers in C++, and how many a row has.
        clears: Whether it stores zeros and takes no originals.
    """

    name: str
    columns: tuple[str, ...]
    numbers: tuple[tuple[str, int], ...]
    clears: bool = False

    def text(self) -> str:
        """Its definition. Thread ``lane`` of a warp copies each 32nd number from number ``lane`` on."""
        chunks = [
            (column, kind, count, first)
            for column, (kind, count) in enumerate(self.numbers)
            for first in range(0, count, WARP_SIZE)
        ]
        loads, stores = list[str](), list[str]()
        for held, (column, kind, count, first) in enumerate(chunks):
            left = count - first
            lane, test = ("lane", "") if left >= WARP_SIZE else (f"min(lane, {left - 1})", f"if (lane < {left}) ")
            loaded = f"(({kind}*)from{column}.data)[source * {count} + {first} + {lane}]"  # by all threads: no branch
            loads.append(f"const {kind} held{held} = {f'{kind}(0)' if self.clears else loaded};")
            stores.append(f"{test}(({kind}*)to{column}.data)[row * {count} + {first} + lane] = held{held};")
        size = "const size_t row = size_t(to_row);" + (
            "" if self.clears else " const size_t source = size_t(from_row);"
        )
        names = [
            f"{which}{column}"
            for column in range(len(self.numbers))
            for which in (("to",) if self.clears else ("to", "from"))
        ]
        rows = ["to_row: wp.int32"] if self.clears else ["to_row: wp.int32", "from_row: wp.int32"]
        columns = [f"{name}: {code}" for name, code in zip(names, self.columns, strict=True)]
        snippet = "\n".join([size, *loads, *stores])
        parameters = ", ".join(["lane: wp.int32", *rows, *columns])
        return f'@wp.func_native(snippet="""\n{snippet}\n""")\ndef {self.name}({parameters}): ...\n'


def numbers_of(field: Field) -> tuple[str, int]:
    """The type in C++ of the numbers of a component, and how many a row has."""
    scalar = scalar_of(field.dtype)
    inner = shape_of(field.dtype) if is_composite(field.dtype) else ()
    return "bool" if scalar is wp.bool else f"wp::{scalar.__name__}", prod((*field.shape, *inner))


def fits_in_registers(numbers: Sequence[tuple[Any, int]]) -> bool:
    """Whether a thread can hold its share of so many numbers."""
    return sum(-(-count // WARP_SIZE) for _, count in numbers) <= MAX_LOADS
