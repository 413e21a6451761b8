"""Random expressions: text of a wanted type, made of what is in scope, valid by construction."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from worldloom.testing.scope import HelperSpec, Scope
from worldloom.testing.types import BOOL, FLOAT, FLOATS, INT, INTEGERS, SCALARS, RefType, Type, widens

VEC2, VEC3, VEC4 = (Type("float32", (n,), "vec") for n in (2, 3, 4))
QUAT = Type("float32", (4,), "quat")
MATRICES = {n: Type("float32", (n, n), "mat") for n in (2, 3, 4)}
LETTERS = "xyzw"
_COMPARE = ("==", "!=", "<", "<=", ">", ">=")


class ExpressionGenerator:
    """Writes expressions.

    Args:
        dice: Where choices come from.
        mode: What real numbers there are, one of :data:`~worldloom.testing.values.MODES`.
        helpers: The helpers that may be called.
    """

    def __init__(self, rng: random.Random, mode: str, helpers: list[HelperSpec]) -> None:
        self.rng, self.mode, self.helpers = rng, mode, helpers
        self.scope = Scope()
        self.in_helper = False

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    # -- any type ----------------------------------------------------------------------------------------------------

    def value(self, kind: Any, depth: int = 2, typed: bool = True) -> str:
        """An expression of a type; ``typed`` refuses a bare number, which would take the type of what it meets."""
        if isinstance(kind, RefType):
            return self.reference(kind.kind)
        if kind == BOOL:
            return self.truth(depth)
        if kind.shape:
            return self.composite(kind, depth)
        if kind.scalar in FLOATS:
            return self.real(kind, depth, typed)
        return self.whole(kind, depth, typed)

    def known(self, kind: Any) -> str | None:
        """Something of a type that can be read."""
        texts = self.scope.reads.get(kind)
        return self.rng.choice(texts) if texts else None

    def leaf(self, kind: Type, typed: bool) -> str:
        if not typed and self.chance(0.3):
            return self.literal(kind)
        found = self.known(kind) if self.chance(0.8) else None
        if found is None:
            found = self.element(kind)
        return found or self.cast(kind, self.literal(kind))

    def cast(self, kind: Type, text: str) -> str:
        return f"{kind}({text})"

    def element(self, kind: Type) -> str | None:
        """An element of an array, or a number of a vector."""
        arrays = [a for a in self.scope.arrays if a.type == kind]
        vectors = [
            (k, t)
            for k, texts in self.scope.reads.items()
            if isinstance(k, Type) and k.shape and k.element == kind
            for t in texts
        ]
        if arrays and (not vectors or self.chance(0.6)):
            array = self.rng.choice(arrays)
            return f"{array.text}[{', '.join(self.index(size) for size in array.shape)}]"
        if not vectors:
            return None
        holder, text = self.rng.choice(vectors)
        if len(holder.shape) == 1 and self.chance(0.6):
            return f"{text}.{self.rng.choice(LETTERS[: holder.shape[0]])}"
        return f"{text}[{', '.join(self.index(size) for size in holder.shape)}]"

    def index(self, size: int) -> str:
        """An index of ``size`` elements; rarely one that may not exist."""
        chosen = self.rng.random()
        counters = [name for name, bound in self.scope.bounded if bound <= size]
        if counters and chosen < 0.4:
            return self.rng.choice(counters)
        if chosen < 0.5:
            return str(self.rng.randrange(-size, size))
        if chosen < 0.75:
            return f"{self.whole(INT, 1)} % {size}"
        if chosen < 0.97:
            return f"wl.clamp({self.whole(INT, 1)}, 0, {size - 1})"
        free = self.whole(INT, 1)
        return (
            f"{free} % {size}" if free == "LIMIT" or free.startswith("len(") else free
        )  # known beforehand, it would be refused

    def literal(self, kind: Type) -> str:
        if kind.is_float:
            return self.real_literal()
        info = np.iinfo(kind.scalar)
        chosen = self.rng.random()
        if chosen < 0.75:
            number = self.rng.randint(max(info.min, -4), 9)
        elif chosen < 0.9:
            number = self.rng.choice((info.min, info.max, info.max - 1, info.max // 2))
        else:
            number = self.rng.randint(info.min, info.max)
        number = min(max(number, -(2**31)), 2**31 - 1)
        return f"({number})" if number < 0 else str(number)

    # -- whole numbers -----------------------------------------------------------------------------------------------

    def whole(self, kind: Type, depth: int = 2, typed: bool = True) -> str:
        if depth <= 0 or self.chance(0.25):
            return self.leaf(kind, typed)
        makers: list[tuple[float, Callable[[], str]]] = [
            (5, lambda: self.arithmetic(kind, depth, ("+", "-", "*"))),
            (2, lambda: self.arithmetic(kind, depth, ("//", "%"))),
            (2, lambda: self.arithmetic(kind, depth, ("&", "|", "^"))),
            (1, lambda: self.arithmetic(kind, depth, ("<<", ">>"))),
            (
                1,
                lambda: (
                    f"(-{self.whole(kind, depth - 1)})" if self.chance(0.6) else f"(~{self.whole(kind, depth - 1)})"
                ),
            ),
            (
                1.5,
                lambda: (
                    f"({self.value(kind, depth - 1)} if {self.truth(depth - 1)} else {self.value(kind, depth - 1, typed=False)})"
                ),
            ),
            (1.5, lambda: self.function(kind, depth)),
            (3 if kind == INT else 5, lambda: self.converted(kind, depth)),
            (0.5, lambda: f"({self.whole(kind, depth - 1)} ** {self.rng.choice((2, 3))})"),
            (1, lambda: self.called(kind, depth) or self.leaf(kind, typed)),
        ]
        if kind == INT:
            makers.append((0.7, lambda: self.special_int(depth)))
        return self.pick(makers)

    def pick(self, makers: list[tuple[float, Callable[[], str]]]) -> str:
        return self.rng.choices([make for _, make in makers], [weight for weight, _ in makers])[0]()

    def arithmetic(self, kind: Type, depth: int, operators: tuple[str, ...]) -> str:
        sides = [self.value(kind, depth - 1), self.other_side(kind, depth - 1)]
        if self.chance(0.5):
            sides.reverse()
        return f"({sides[0]} {self.rng.choice(operators)} {sides[1]})"

    def other_side(self, kind: Type, depth: int) -> str:
        """The other side of an operation: of the same type, a bare number, or of a narrower type."""
        if self.chance(0.15) and kind.is_integer:
            narrower = [
                s for s in INTEGERS if s != kind.scalar and widens(s, kind.scalar) and Type(s) in self.scope.reads
            ]
            if narrower:
                return self.value(Type(self.rng.choice(narrower)), depth - 1)
        return self.value(kind, depth, typed=False)

    def function(self, kind: Type, depth: int) -> str:
        a = self.value(kind, depth - 1)
        chosen = self.rng.randrange(5)
        if chosen == 0:
            return f"abs({a})"
        if chosen == 1:
            return f"{self.rng.choice(('min', 'max', 'wl.min', 'wl.max'))}({a}, {self.value(kind, depth - 1, typed=False)})"
        if chosen == 2:
            return f"{self.rng.choice(('min', 'max'))}({a}, {self.value(kind, depth - 2, typed=False)}, {self.value(kind, depth - 2)})"
        if chosen == 3:
            return f"wl.clamp({a}, {self.literal(kind)}, {self.literal(kind)})"
        return f"wl.{self.rng.choice(('sign', 'nonzero'))}({a})"

    def converted(self, kind: Type, depth: int) -> str:
        """A number of another type, converted."""
        sources = [s for s in SCALARS if s != kind.scalar and (self.mode != "smooth" or s not in FLOATS)]
        present = [s for s in sources if Type(s) in self.scope.reads]
        source = Type(self.rng.choice(present or sources))
        return self.cast(kind, self.value(source, depth - 1))

    def called(self, kind: Type, depth: int) -> str | None:
        """A call of a helper that gives one value of a type."""
        fitting = [h for h in self.helpers if h.gives == [kind]]
        if not fitting:
            return None
        helper = self.rng.choice(fitting)
        return f"{helper.name}({', '.join(self.value(t, min(depth - 1, 1)) for t in helper.takes)})"

    def special_int(self, depth: int) -> str:
        arrays = [a for a in self.scope.arrays if len(a.shape) == 1]
        if arrays and self.chance(0.3):
            return f"len({self.rng.choice(arrays).text})"
        if self.mode != "smooth" and self.chance(0.5):
            return f"round({self.real(FLOAT, depth - 1)})"
        vector = self.known(VEC3) if self.mode != "smooth" else None
        return (
            f"wl.{self.rng.choice(('argmin', 'argmax'))}({vector})"
            if vector and self.mode != "any"
            else self.leaf(INT, True)
        )

    # -- real numbers ------------------------------------------------------------------------------------------------

    def real_literal(self) -> str:
        if self.mode == "smooth":
            return self.rng.choice(("0.5", "1.5", "0.3", "1.25", "2.0"))
        if self.mode == "dyadic":
            number = self.rng.randint(-6, 6) / 2
        else:
            number = self.rng.choice(
                (
                    0.0,
                    0.5,
                    1.0,
                    -1.0,
                    2.0,
                    0.1,
                    -0.3,
                    3.14,
                    1e6,
                    1e-6,
                    1e30,
                    -2.5,
                    65504.0,
                    round(self.rng.gauss(0, 10), 3),
                )
            )
        return f"({number})" if number < 0 else str(number)

    def real(self, kind: Type, depth: int = 2, typed: bool = True) -> str:
        if depth <= 0 or self.chance(0.25):
            return self.leaf(kind, typed)
        if self.mode == "dyadic":
            return self.dyadic(kind, depth)
        operators = ("+", "*", "/") if self.mode == "smooth" else ("+", "-", "*", "/")
        makers: list[tuple[float, Callable[[], str]]] = [
            (6, lambda: self.arithmetic(kind, depth, operators)),
            (
                1.5,
                lambda: (
                    f"({self.value(kind, depth - 1)} if {self.truth(depth - 1)} else {self.value(kind, depth - 1, typed=False)})"
                ),
            ),
            (1.5, lambda: self.extreme_real(kind, depth)),
            (0.7, lambda: f"wl.sqrt({'' if self.mode == 'smooth' else 'abs'}({self.real(kind, depth - 1)}))"),
            (0.5, lambda: f"({self.real(kind, depth - 1)} ** {self.rng.choice((2, 3))})"),
            (1, lambda: self.called(kind, depth) or self.leaf(kind, typed)),
            (1, lambda: self.from_vector(depth) if kind == FLOAT else self.leaf(kind, typed)),
        ]
        if self.mode == "any":
            makers += [
                (0.7, lambda: self.arithmetic(kind, depth, ("//", "%"))),
                (
                    1,
                    lambda: (
                        f"wl.{self.rng.choice(('floor', 'ceil', 'trunc', 'rint', 'sign', 'frac'))}({self.real(kind, depth - 1)})"
                    ),
                ),
                (0.7, lambda: f"(-{self.real(kind, depth - 1)})"),
                (0.7, lambda: f"abs({self.real(kind, depth - 1)})"),
                (1.5, lambda: self.converted(kind, depth)),
                (
                    0.5,
                    lambda: (
                        f"({self.whole(INT, depth - 1)} / {self.whole(INT, depth - 1)})"
                        if kind == FLOAT
                        else self.leaf(kind, typed)
                    ),
                ),
                (
                    0.5,
                    lambda: (
                        f"wl.lerp({self.real(kind, depth - 2)}, {self.real(kind, depth - 2)}, {self.real(kind, depth - 2)})"
                    ),
                ),
            ]
        else:
            makers.append((1, lambda: self.cast(kind, f"{self.whole(INT, 1)} % 5 + 1")))
        return self.pick(makers)

    def extreme_real(self, kind: Type, depth: int) -> str:
        """The smaller or the larger of two; 0 is added since devices may choose either of 0.0 and -0.0 in fast mode."""
        a, b = self.real(kind, depth - 1), self.real(kind, depth - 1)
        return f"({self.rng.choice(('min', 'max'))}({a}, {b}) + 0.0)"

    def from_vector(self, depth: int) -> str:
        kind = self.rng.choice((VEC2, VEC3, VEC4))
        a, b = self.composite(kind, min(depth - 1, 1)), self.composite(kind, min(depth - 1, 1))
        return self.rng.choice((f"wl.dot({a}, {b})", f"wl.length_sq({a})", f"wl.length({a})"))

    def factor(self, kind: Type) -> str:
        """A small multiple of a half."""
        found = self.leaf(kind, True)
        return f"keep({found})" if kind == FLOAT else found

    def dyadic(self, kind: Type, depth: int) -> str:
        """Sums of products of two small numbers, which are exact."""
        if kind != FLOAT:
            return self.leaf(kind, True)
        makers: list[tuple[float, Callable[[], str]]] = [
            (
                4,
                lambda: (
                    f"({self.real(kind, depth - 1)} {self.rng.choice('+-')} {self.real(kind, depth - 1, typed=False)})"
                ),
            ),
            (4, lambda: f"({self.factor(kind)} * {self.factor(kind)})"),
            (
                2,
                lambda: (
                    f"({self.real(kind, depth - 1)} if {self.truth(depth - 1)} else {self.real(kind, depth - 1, typed=False)})"
                ),
            ),
            (
                1,
                lambda: (
                    f"{self.rng.choice(('min', 'max'))}({self.real(kind, depth - 1)}, {self.real(kind, depth - 1)})"
                ),
            ),
            (1, lambda: f"(-{self.real(kind, depth - 1)})"),
            (1, lambda: f"abs({self.real(kind, depth - 1)})"),
            (1, lambda: f"wl.{self.rng.choice(('floor', 'ceil', 'rint'))}({self.real(kind, depth - 1)})"),
            (1, lambda: f"float({self.whole(INT, 1)} % 8)"),
            (1, lambda: self.called(kind, depth) or self.leaf(kind, True)),
        ]
        return self.pick(makers)

    # -- vectors, matrices, quaternions ------------------------------------------------------------------------------

    def composite(self, kind: Type, depth: int) -> str:
        known = self.known(kind)
        if known is not None and (depth <= 0 or self.chance(0.35)):
            return known
        if depth <= 0 or (kind.family in ("mat", "quat") and self.chance(0.5)):
            return self.built(kind, 0)
        makers: list[tuple[float, Callable[[], str]]] = [
            (3, lambda: self.built(kind, depth - 1)),
            (
                1,
                lambda: (
                    f"({self.composite(kind, depth - 1)} if {self.truth(depth - 1)} else {self.composite(kind, depth - 1)})"
                ),
            ),
            (0.7, lambda: self.called(kind, depth) or self.built(kind, 0)),
        ]
        if kind.scalar == "int32" or self.mode != "dyadic":
            signs = ("+",) if self.mode == "smooth" and kind.is_float else ("+", "-")
            makers += [
                (
                    3,
                    lambda: (
                        f"({self.composite(kind, depth - 1)} {self.rng.choice(signs)} {self.composite(kind, depth - 1)})"
                    ),
                ),
                (
                    2,
                    lambda: f"({self.composite(kind, depth - 1)} * {self.value(kind.element, depth - 1, typed=False)})",
                ),
                (
                    1,
                    lambda: f"({self.value(kind.element, depth - 1, typed=False)} * {self.composite(kind, depth - 1)})",
                ),
            ]
            if kind.family == "vec":
                makers.append(
                    (1, lambda: f"wl.cw_mul({self.composite(kind, depth - 1)}, {self.composite(kind, depth - 1)})")
                )
        if kind.family == "vec" and self.mode == "any":
            makers += [
                (0.7, lambda: f"(-{self.composite(kind, depth - 1)})"),
                (0.5, lambda: f"wl.abs({self.composite(kind, depth - 1)})"),
            ]
            if kind.is_float:
                makers.append((0.5, lambda: f"wl.normalize({self.composite(kind, depth - 1)})"))
        if kind == VEC3 and self.mode == "any":
            makers.append(
                (0.7, lambda: f"wl.cross({self.composite(VEC3, depth - 1)}, {self.composite(VEC3, depth - 1)})")
            )
            makers.append(
                (0.5, lambda: f"wl.quat_rotate({self.composite(QUAT, 0)}, {self.composite(VEC3, depth - 1)})")
            )
        if kind.family == "mat" and self.mode == "any":
            vector, inner = Type("float32", kind.shape[:1], "vec"), depth - 1
            makers += [
                (0.7, lambda: f"wl.transpose({self.composite(kind, inner)})"),
                (0.5, lambda: f"wl.outer({self.composite(vector, inner)}, {self.composite(vector, inner)})"),
                (0.3, lambda: f"wl.diag({self.composite(vector, inner)})"),
            ]
        if kind.family == "quat" and self.mode == "any":
            makers.append((0.7, lambda: f"({self.composite(kind, 0)} * {self.composite(kind, 0)})"))
            makers.append((0.5, lambda: f"wl.quat_inverse({self.composite(kind, 0)})"))
        if kind in (VEC2, VEC3, VEC4) and self.mode != "dyadic":
            matrix = MATRICES[kind.shape[0]]
            makers.append((0.5, lambda: f"({self.composite(matrix, 0)} @ {self.composite(kind, depth - 1)})"))
        return self.pick(makers)

    def built(self, kind: Type, depth: int) -> str:
        size = int(np.prod(kind.shape))
        return f"{kind}({', '.join(self.small(kind.element, depth) for _ in range(size))})"

    def small(self, kind: Type, depth: int) -> str:
        """One number of a vector."""
        text = self.value(kind, min(depth, 1), typed=False)
        return f"keep({text})" if self.mode == "dyadic" and kind == FLOAT and depth > 0 else text

    # -- truth values and references ---------------------------------------------------------------------------------

    def truth(self, depth: int = 2) -> str:
        if depth <= 0 or self.chance(0.25):
            return self.known(BOOL) or self.rng.choice(("True", "False"))
        makers: list[tuple[float, Callable[[], str]]] = [
            (5, lambda: self.comparison(depth)),
            (1.5, lambda: f"({self.truth(depth - 1)} {self.rng.choice(('and', 'or'))} {self.truth(depth - 1)})"),
            (1, lambda: f"(not {self.truth(depth - 1)})"),
            (0.7, lambda: f"({self.truth(depth - 1)} {self.rng.choice('&|^')} {self.truth(depth - 1)})"),
            (1, lambda: self.chain(depth)),
            (
                0.7,
                lambda: (
                    f"({self.whole(INT, depth - 1)} in ({self.literal(INT)}, {self.literal(INT)}, {self.whole(INT, 0)}))"
                ),
            ),
            (0.5, lambda: f"bool({self.value(self.number_type(), depth - 1)})"),
            (0.7, lambda: f"({self.truth(depth - 1)} if {self.truth(depth - 1)} else {self.truth(depth - 1)})"),
        ]
        if self.scope.refs:
            makers.append((2, self.about_reference))
        if self.mode == "any":
            makers.append(
                (0.5, lambda: f"wl.{self.rng.choice(('isnan', 'isinf', 'isfinite'))}({self.real(FLOAT, depth - 1)})")
            )
        return self.pick(makers)

    def number_type(self) -> Type:
        """A type of numbers of which there are some in scope."""
        found = [
            k
            for k in self.scope.reads
            if isinstance(k, Type) and not k.shape and k != BOOL and (self.mode != "smooth" or not k.is_float)
        ]
        return self.rng.choice(found) if found else INT

    def comparison(self, depth: int) -> str:
        kind = self.number_type()
        return f"({self.value(kind, depth - 1)} {self.rng.choice(_COMPARE)} {self.value(kind, depth - 1, typed=False)})"

    def chain(self, depth: int) -> str:
        kind = self.number_type()
        low, middle, high = (
            self.value(kind, 0, typed=False),
            self.value(kind, depth - 1),
            self.value(kind, 0, typed=False),
        )
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
