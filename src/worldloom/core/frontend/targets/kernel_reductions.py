"""Accumulation in kernels: into rows that other threads write, and over the threads of a shared loop."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

import warp as wp

from worldloom.core.frontend import nodes
from worldloom.core.frontend.targets import accessors
from worldloom.core.frontend.targets.kernel_columns import KernelColumns
from worldloom.core.frontend.targets.kernel_names import register_name
from worldloom.core.frontend.values import Value
from worldloom.core.kernels.population_kernels import WARP_SIZE
from worldloom.core.kernels.row_copies import RowCopy, fits_in_registers, numbers_of
from worldloom.core.kernels.warp_reductions import ATOMIC_EXTREME_TYPES, atomic_extreme_name, warp_reduce_name
from worldloom.core.model.columns import ColumnKey
from worldloom.core.model.dtypes import FLOATS, scalar_of
from worldloom.core.model.fields import Field

if TYPE_CHECKING:
    pass


class KernelReductions(KernelColumns):
    """The accumulation of compiled code. Subclassed by :class:`KernelRows`."""

    def accumulate(
        self, row: Value, field: Field, operator: str, value: ast.expr, indices: list[ast.expr] | None
    ) -> list[ast.stmt]:
        if self._in_registers(row) and not (self.threads > 1 and self._in_shared_loop):
            now = self.read(row, field) if indices is None else self.element(row, field, indices)
            value = self.combine(operator, now, value, field)
            return self.write(row, field, value) if indices is None else self.set_element(row, field, indices, value)
        if self._in_registers(row) and indices is None and field.dtype is not wp.bool:
            self._reductions[self._column(row, field)] = "add" if operator == "sub" else operator  # a negative sum
            partial = _reduction_variable(self._column(row, field))
            return [nodes.assign(partial, self.combine(operator, nodes.name(partial), value, field))]
        position = [self._row(row), *(indices or [])]
        column = self._memory_column(row, field, write=True)
        if operator in ("or", "and") and field.dtype is wp.bool:
            test = value if operator == "or" else ast.UnaryOp(ast.Not(), value)
            return self._on_first_lane(
                [
                    ast.If(
                        test,
                        [accessors.put(column, field, self._row(row), nodes.constant(operator == "or"), indices)],
                        [],
                    )
                ]
            )
        if self.exact and scalar_of(field.dtype) in FLOATS:
            self.in_order = True
            return self._accumulate_in_order(column, position, operator, value, field)
        if operator in ("min", "max") and indices is None and field.dtype in ATOMIC_EXTREME_TYPES:
            self.atomic_extremes[operator, field.dtype] = None
            return self._on_first_lane(
                [ast.Expr(nodes.call(atomic_extreme_name(operator, field.dtype), column, *position, value))]
            )
        return self._on_first_lane([ast.Expr(nodes.warp(f"atomic_{operator}", column, *position, value))])

    def _accumulate_in_order(
        self, column: ast.expr, position: list[ast.expr], operator: str, value: ast.expr, field: Field
    ) -> list[ast.stmt]:
        """Plain arithmetic instead of atomics, which flush subnormals on the GPU; the position is evaluated once."""
        variables = [f"wl_place_{i}" for i in range(len(position))]
        row, *indices = (nodes.name(name) for name in variables)
        code: list[ast.stmt] = [
            nodes.assign(name, self.cast(index, wp.int32)) for name, index in zip(variables, position, strict=True)
        ]
        now = accessors.get(column, field, row, list(indices))
        combined = self.combine(operator, now, value, field)
        return [*code, accessors.put(column, field, row, combined, list(indices))]

    def prefetch(self, row: Value, array: Field, first: int, elements: int) -> list[ast.stmt]:
        if self.threads > 1 or not accessors.is_worth_prefetching(array, elements):
            return []
        return [accessors.prefetch(self._memory_column(row, array, write=True), array, self._row(row), first, elements)]

    def loop_shared(
        self,
        counter: str,
        iterations: ast.expr,
        body: list[ast.stmt],
        reductions: list[tuple[Value, Field]],
        disjoint: bool = False,
    ) -> list[ast.stmt]:
        """Every thread runs each ``threads``-th iteration and reduces on its own.

        The threads of a warp then reduce with shuffles; warps combine their results in memory with atomics.
        """
        if self.threads == 1:
            return super().loop_shared(counter, iterations, body, reductions)
        self.scalars.add("lane")
        declared = [self._reduction(row, component) for row, component in reductions]
        start = [statement for reduction in declared for statement in self._start_reduction(reduction)]
        if any(reduction.in_memory for reduction in declared):
            start.insert(0, self._barrier())  # other threads may still be loading the values that are now stored
        loop = self._strided_loop(counter, iterations, body)
        combine = [statement for reduction in declared for statement in self._combine_threads(reduction)]
        end = [statement for reduction in declared for statement in self._finish_reduction(reduction)]
        return [*start, self._barrier(), loop, *combine, self._barrier(), *end]

    def copy_components(self, rows: list[Value], components: list[tuple[Field, ...]]) -> list[ast.stmt] | None:
        numbers = tuple(numbers_of(fields[0]) for fields in components)
        if self.threads != WARP_SIZE or not fits_in_registers(numbers):
            return None
        self.scalars.add("lane")
        columns, annotations = list[ast.expr](), list[str]()
        for fields in components:
            for row, field in zip(rows, fields, strict=True):
                columns.append(self._memory_column(row, field, write=row is rows[0]))
                annotations.append(accessors.array_code(field, self.types))
        what = "clear" if len(rows) == 1 else "copy"
        copy = RowCopy(f"wl_{what}_{self.table}", tuple(annotations), numbers, clears=len(rows) == 1)
        self.row_copies[copy] = None
        called = nodes.call(copy.name, nodes.name("lane"), *map(self._row, rows), *columns)
        return [self._barrier(), ast.Expr(called), self._barrier()]

    def _reduction(self, row: Value, component: Field) -> _Reduction:
        column = self._column(row, component)
        operator = self._reductions.pop(column, "")
        in_memory = self.threads > WARP_SIZE or not operator
        return _Reduction(row, component, operator, in_memory, _reduction_variable(column))

    def _start_reduction(self, reduction: _Reduction) -> list[ast.stmt]:
        """Initialize a thread's partial result, and the value in memory where threads combine there."""
        row, component = reduction.row, reduction.component
        now, code = self.read(row, component), list[ast.stmt]()
        if reduction.in_memory:
            column = self._memory_column(row, component, write=True)
            code += self._on_first_lane([accessors.put(column, component, self._row(row), now)])
        if reduction.operator:
            starts_from_now = reduction.operator in ("min", "max", "and")
            first = now if starts_from_now else self.literal(0, component.dtype)
            code.append(nodes.assign(reduction.variable, self.as_variable(first, component.dtype)))
        return code

    def _strided_loop(self, counter: str, iterations: ast.expr, body: list[ast.stmt]) -> ast.For:
        """The loop in which a thread runs each ``threads``-th iteration."""
        threads = nodes.constant(self.threads)
        if isinstance(iterations, ast.Constant) and isinstance(iterations.value, int):
            rounds: ast.expr = nodes.constant(-(-iterations.value // self.threads))
        else:
            rounded_up = nodes.binary(iterations, ast.Add(), nodes.constant(self.threads - 1))
            rounds = nodes.binary(rounded_up, ast.Div(), threads)
        first = nodes.binary(nodes.name(f"{counter}_round"), ast.Mult(), threads)
        number = nodes.assign(counter, nodes.binary(first, ast.Add(), nodes.name("lane")))
        guarded = ast.If(ast.Compare(nodes.name(counter), [ast.Lt()], [iterations]), body, [])
        name = ast.Name(f"{counter}_round", ast.Store())
        return ast.For(name, nodes.call("range", rounds), [number, guarded], [], None)

    def _combine_threads(self, reduction: _Reduction) -> list[ast.stmt]:
        """Reduce over the threads of a warp, and over warps in memory."""
        operator, component, partial = reduction.operator, reduction.component, nodes.name(reduction.variable)
        if not operator:
            return []
        self.warp_reductions[operator, component.dtype] = None
        over_warp = nodes.call(warp_reduce_name(operator, component.dtype), partial)
        code: list[ast.stmt] = [nodes.assign(reduction.variable, over_warp)]
        if self.threads > WARP_SIZE:
            column = self._memory_column(reduction.row, component, write=True)
            atomic = nodes.warp(f"atomic_{operator}", column, self._row(reduction.row), partial)
            lane_of_warp = nodes.binary(nodes.name("lane"), ast.Mod(), nodes.constant(WARP_SIZE))
            first_of_warp = ast.Compare(lane_of_warp, [ast.Eq()], [nodes.constant(0)])
            code.append(ast.If(first_of_warp, [ast.Expr(atomic)], []))
        return code

    def _finish_reduction(self, reduction: _Reduction) -> list[ast.stmt]:
        """Store the result in the register of the component."""
        row, component, total = reduction.row, reduction.component, nodes.name(reduction.variable)
        if reduction.in_memory:
            column = self._memory_column(row, component, write=False)
            return self.write(row, component, accessors.get(column, component, self._row(row)))
        if reduction.operator in ("min", "max", "and"):
            return self.write(row, component, total)
        return self.write(row, component, self.combine(reduction.operator, self.read(row, component), total, component))


@dataclass(frozen=True)
class _Reduction:
    """A component of the own row that the threads of a shared loop accumulate into.

    Attributes:
        operator: The operator of the reduction; empty for truth values, which accumulate in memory.
        in_memory: Whether threads combine their results in memory.
        variable: The variable with a thread's partial result.
    """

    row: Value
    component: Field
    operator: str
    in_memory: bool
    variable: str


def _reduction_variable(column: ColumnKey) -> str:
    """The variable with a thread's partial result for a component."""
    return f"wl_gathered_{register_name(column)}"
