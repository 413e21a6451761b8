"""Random expressions of all types, made of what is in scope, valid by construction."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from worldloom.testing.generator.numbers import VEC2, VEC3, VEC4, Maker, NumberGenerator
from worldloom.testing.reference.types import BOOL, FLOAT, FLOATS, INT, RefType, Type

QUAT = Type("float32", (4,), "quat")
MATRICES = {n: Type("float32", (n, n), "mat") for n in (2, 3, 4)}
_COMPARE = ("==", "!=", "<", "<=", ">", ">=")


class ExpressionGenerator(NumberGenerator):
    """Writes expressions of all types."""

    # -- any type ----------------------------------------------------------------------------------------------------

    def value(self, kind: Any, depth: int = 2, typed: bool = True) -> str:
        """An expression of a type. ``typed`` excludes literals, which take the type of the other operand."""
        if isinstance(kind, RefType):
            return self.reference(kind.kind)
        if kind == BOOL:
            return self.truth(depth)
        if kind.shape:
            return self.composite(kind, depth)
        if kind.scalar in FLOATS:
            return self.real(kind, depth, typed)
        return self.whole(kind, depth, typed)

    # -- vectors, matrices, quaternions ------------------------------------------------------------------------------

    def composite(self, kind: Type, depth: int) -> str:
        known = self.known(kind)
        if known is not None and (depth <= 0 or self.chance(0.35)):
            return known
        if depth <= 0 or (kind.family in ("mat", "quat") and self.chance(0.5)):
            return self.built(kind, 0)
        inner = functools.partial(self.composite, kind, depth - 1)
        makers: list[Maker] = [
            (3, lambda: self.built(kind, depth - 1)),
            (1, lambda: f"({inner()} if {self.truth(depth - 1)} else {inner()})"),
            (0.7, lambda: self.called(kind, depth) or self.built(kind, 0)),
        ]
        if kind.scalar == "int32" or self.mode != "dyadic":
            signs = ("+",) if self.mode == "smooth" and kind.is_float else ("+", "-")
            factor = functools.partial(self.value, kind.element, depth - 1, typed=False)
            makers += [
                (3, lambda: f"({inner()} {self.rng.choice(signs)} {inner()})"),
                (2, lambda: f"({inner()} * {factor()})"),
                (1, lambda: f"({factor()} * {inner()})"),
            ]
            if kind.family == "vec":
                makers.append((1, lambda: f"wl.cw_mul({inner()}, {inner()})"))
        if self.mode == "any":
            makers += self.composite_functions(kind, depth)
        if kind in (VEC2, VEC3, VEC4) and self.mode != "dyadic":
            matrix = MATRICES[kind.shape[0]]
            makers.append((0.5, lambda: f"({self.composite(matrix, 0)} @ {inner()})"))
        return self.pick(makers)

    def composite_functions(self, kind: Type, depth: int) -> list[Maker]:
        """Functions that return vectors, matrices and quaternions, which round in worlds of mode ``any`` only."""
        inner = functools.partial(self.composite, kind, depth - 1)
        makers: list[Maker] = []
        if kind.family == "vec":
            makers += [(0.7, lambda: f"(-{inner()})"), (0.5, lambda: f"wl.abs({inner()})")]
            if kind.is_float:
                makers.append((0.5, lambda: f"wl.normalize({inner()})"))
        if kind == VEC3:
            makers.append((0.7, lambda: f"wl.cross({inner()}, {inner()})"))
            makers.append((0.5, lambda: f"wl.quat_rotate({self.composite(QUAT, 0)}, {inner()})"))
        if kind.family == "mat":
            vector = functools.partial(self.composite, Type("float32", kind.shape[:1], "vec"), depth - 1)
            makers += [
                (0.7, lambda: f"wl.transpose({inner()})"),
                (0.5, lambda: f"wl.outer({vector()}, {vector()})"),
                (0.3, lambda: f"wl.diag({vector()})"),
            ]
        if kind.family == "quat":
            makers.append((0.7, lambda: f"({self.composite(kind, 0)} * {self.composite(kind, 0)})"))
            makers.append((0.5, lambda: f"wl.quat_inverse({self.composite(kind, 0)})"))
        return makers

    def built(self, kind: Type, depth: int) -> str:
        size = int(np.prod(kind.shape))
        return f"{kind}({', '.join(self.small(kind.element, depth) for _ in range(size))})"

    def small(self, kind: Type, depth: int) -> str:
        """One element of a vector."""
        text = self.value(kind, min(depth, 1), typed=False)
        return f"keep({text})" if self.mode == "dyadic" and kind == FLOAT and depth > 0 else text

    # -- truth values and references ---------------------------------------------------------------------------------

    def truth(self, depth: int = 2) -> str:
        if depth <= 0 or self.chance(0.25):
            return self.known(BOOL) or self.rng.choice(("True", "False"))
        makers: list[Maker] = [
            (5, lambda: self.comparison(depth)),
            (1.5, lambda: f"({self.truth(depth - 1)} {self.rng.choice(('and', 'or'))} {self.truth(depth - 1)})"),
            (1, lambda: f"(not {self.truth(depth - 1)})"),
            (0.7, lambda: f"({self.truth(depth - 1)} {self.rng.choice('&|^')} {self.truth(depth - 1)})"),
            (1, lambda: self.chain(depth)),
            (0.7, lambda: self.membership(depth)),
            (0.5, lambda: f"bool({self.value(self.number_type(), depth - 1)})"),
            (0.7, lambda: f"({self.truth(depth - 1)} if {self.truth(depth - 1)} else {self.truth(depth - 1)})"),
        ]
        if self.scope.refs:
            makers.append((2, self.about_reference))
        if self.mode == "any":
            makers.append((0.5, lambda: self.applied(FLOAT, depth, ("isnan", "isinf", "isfinite"))))
        return self.pick(makers)

    def membership(self, depth: int) -> str:
        left = self.whole(INT, depth - 1)
        return f"({left} in ({self.literal(INT)}, {self.literal(INT)}, {self.whole(INT, 0)}))"

    def number_type(self) -> Type:
        """A scalar type with values in scope."""
        scalars = [kind for kind in self.scope.reads if isinstance(kind, Type) and not kind.shape and kind != BOOL]
        comparable = [kind for kind in scalars if self.mode != "smooth" or not kind.is_float]
        return self.rng.choice(comparable) if comparable else INT

    def comparison(self, depth: int) -> str:
        kind = self.number_type()
        return f"({self.value(kind, depth - 1)} {self.rng.choice(_COMPARE)} {self.value(kind, depth - 1, typed=False)})"

    def chain(self, depth: int) -> str:
        kind = self.number_type()
        low, middle = self.value(kind, 0, typed=False), self.value(kind, depth - 1)
        high = self.value(kind, 0, typed=False)
        return f"({low} {self.rng.choice(_COMPARE)} {middle} {self.rng.choice(_COMPARE)} {high})"

    def about_reference(self) -> str:
        text, kind = self.rng.choice(self.scope.refs)
        others = [t for t, k in self.scope.refs if k == kind]
        return self.rng.choice(
            (
                f"{text}.alive",
                f"({text} is None)",
                f"({text} is not None)",
                f"({text} == {self.rng.choice(others)})",
                f"({text} != None)",
            )
        )

    def reference(self, kind: str) -> str:
        known = [t for t, k in self.scope.refs if k == kind] + [f"{t}.ref" for t, k in self.scope.rows if k == kind]
        return self.rng.choice(known) if known and self.chance(0.8) else "None"
