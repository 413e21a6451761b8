"""Numbers and vectors in kernels: literals, conversions, and integer arithmetic that wraps."""

from __future__ import annotations

import ast
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from worldloom.core.arithmetic.functions import result_type
from worldloom.core.frontend import nodes
from worldloom.core.frontend.targets.accessors import type_code
from worldloom.core.frontend.targets.target import Target
from worldloom.core.frontend.values import RefType, is_scalar
from worldloom.core.kernels.rotations import SHORT
from worldloom.core.kernels.wrapping import PREFIX as WRAPS
from worldloom.core.kernels.wrapping import RING, UNSIGNED
from worldloom.core.kernels.wrapping import SCALAR as WRAPPING
from worldloom.core.model.dtypes import is_composite, scalar_of, shape_of, with_scalar
from worldloom.core.model.fields import Field

if TYPE_CHECKING:
    pass


class KernelArithmetic(Target):
    """The arithmetic of compiled code. Subclassed by :class:`KernelColumns`."""

    types: dict[str, Any]
    """Types and constants that the generated code refers to by name."""
    _counted_loops = 0
    """Loops whose iterations are counted so far: nested loops over one name each keep their own start."""

    def local(self, name: str) -> str:
        return f"v_{name}"

    def literal(self, value: Any, kind: Any) -> ast.expr:
        if kind is wp.bool:
            return nodes.constant(bool(value))
        if isinstance(value, (bool, np.bool_)):
            value = int(value)
        if isinstance(value, float) and not math.isfinite(value):
            special = nodes.attribute(nodes.name("wp"), "nan" if math.isnan(value) else "inf")
            return self.cast(ast.UnaryOp(ast.USub(), special) if value < 0 else special, kind)
        if kind is wp.float32:
            return nodes.constant(float(value))
        if kind is wp.uint32 and value >= 2**31:  # Warp would read the bare number as an int32
            self.types[f"wl_uint32_{int(value)}"] = wp.constant(wp.uint32(int(value)))
            return nodes.name(f"wl_uint32_{int(value)}")
        return nodes.constant(int(value)) if kind is wp.int32 else nodes.warp(kind.__name__, nodes.constant(value))

    def cast(self, node: ast.expr, kind: Any) -> ast.expr:
        value = node.value if isinstance(node, ast.Constant) else None
        if isinstance(value, bool) and kind is not wp.bool:
            node = nodes.constant(int(value))  # Warp writes the name of a truth value into integers of 64 bits
        elif isinstance(value, float) and kind is wp.float64:  # a float32, which Warp would not round to one first
            node = nodes.constant(float(np.float32(value)))
        return nodes.warp(kind.__name__, node)

    def as_variable(self, node: ast.expr, kind: Any) -> ast.expr:
        """Warp treats a literal as a constant; a conversion makes it a variable."""
        return (
            self.cast(node, kind if is_scalar(kind) else wp.int64 if isinstance(kind, RefType) else wp.int32)
            if isinstance(node, ast.Constant)
            else node
        )

    def math_call(self, name: str, types: tuple[Any, ...], arguments: list[ast.expr]) -> ast.expr:
        """A call of a Warp function; for integers, a function that wraps where Warp's overflow is undefined."""
        composite = next((t for t in types if is_composite(t)), None)
        kind = scalar_of(composite) if composite is not None else types[0] if types else None
        if kind in UNSIGNED:
            if composite is None and name in WRAPPING:
                return (
                    self.integer(name, kind, arguments)
                    if kind in WRAPPING[name][1]
                    else super().math_call(name, types, arguments)
                )
            if composite is not None and name == "abs" and kind in WRAPPING["abs"][1]:
                return nodes.call(f"{WRAPS}absolute_of_vector", *arguments)
            if composite is not None and name in RING:
                return self._unsigned(name, types, arguments)
        return super().math_call(name, types, arguments)

    def function(self, name: str, types: tuple[Any, ...], arguments: list[ast.expr]) -> ast.expr:
        short = None if self.exact else SHORT.get((name, types))
        return super().function(name, types, arguments) if short is None else nodes.call(short, *arguments)

    def _unsigned(self, name: str, types: tuple[Any, ...], arguments: list[ast.expr]) -> ast.expr:
        """A Warp function of vectors or matrices of integers, computed with unsigned numbers."""
        converted = []
        for kind, argument in zip(types, arguments, strict=True):
            if is_composite(kind):
                converted.append(self.construct(with_scalar(kind, UNSIGNED[scalar_of(kind)]), [argument]))
            else:
                converted.append(self.cast(argument, UNSIGNED[kind]))
        result, computed = result_type(name, types), nodes.warp(name, *converted)
        return self.construct(result, [computed]) if is_composite(result) else self.cast(computed, result)

    def integer(self, name: str, kind: Any, arguments: list[ast.expr]) -> ast.expr:
        if kind in WRAPPING[name][1]:
            return nodes.call(f"{WRAPS}{WRAPPING[name][0]}", *arguments)
        return super().integer(name, kind, arguments)

    def power(self, exponent: int, kind: Any, base: ast.expr) -> ast.expr:
        return (
            nodes.call(f"{WRAPS}{'square' if exponent == 2 else 'cube'}", base)
            if kind in UNSIGNED
            else super().power(exponent, kind, base)
        )

    def condition(self, test: ast.expr) -> ast.expr:
        """A copy of the condition: Warp reads it again after the branches, and a loop in a branch changes variables."""
        return nodes.warp("bool", test) if isinstance(test, ast.Name) else test

    def loop_range(
        self, counter: str, bounds: list[ast.expr], step: int, overflows: bool, body: list[ast.stmt]
    ) -> list[ast.stmt]:
        """Warp adds the step once more after the last number; where that may overflow, iterations are counted first."""
        if not overflows:
            return super().loop_range(counter, bounds, step, overflows, body)
        self._counted_loops += 1
        start = nodes.name(f"{counter}_start{self._counted_loops}")
        iteration = nodes.name(f"{counter}_turn{self._counted_loops}")
        start_value = nodes.assign(start.id, self.cast(bounds[0], wp.int32))
        iterations = nodes.call(f"{WRAPS}range_turns", start, bounds[1], bounds[2])
        offset = self.integer("mul", wp.int32, [iteration, nodes.constant(step)])
        number = nodes.assign(counter, self.integer("add", wp.int32, [start, offset]))
        variable = ast.Name(iteration.id, ast.Store())
        return [start_value, ast.For(variable, nodes.call("range", iterations), [number, *body], [], None)]

    def construct(self, kind: Any, arguments: list[ast.expr]) -> ast.expr:
        return ast.Call(ast.parse(type_code(kind, self.types), mode="eval").body, arguments, [])

    def component(self, node: ast.expr, kind: Any, indices: list[ast.expr]) -> ast.expr:
        return nodes.index(node, *indices)

    def set_component(self, name: str, kind: Any, indices: list[ast.expr], value: ast.expr) -> list[ast.stmt]:
        return [nodes.store(nodes.index(nodes.name(name), *indices), value)]

    def default(self, field: Field) -> ast.expr:
        """The default of a component, as a literal."""
        if not shape_of(field.dtype):
            return self.as_variable(self.literal(np.asarray(field.default).item(), field.dtype), field.dtype)
        numbers = np.broadcast_to(np.asarray(field.default), shape_of(field.dtype)).ravel().tolist()
        return self.construct(field.dtype, [self.literal(n, scalar_of(field.dtype)) for n in numbers])
