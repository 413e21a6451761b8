"""Random expressions of scalar types: integers and floats."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from typing import Any

import numpy as np

from worldloom.testing.generator.scope import HelperSpec, Scope
from worldloom.testing.reference.types import FLOAT, FLOATS, INT, INTEGERS, SCALARS, Type, widens

VEC2, VEC3, VEC4 = (Type("float32", (n,), "vec") for n in (2, 3, 4))
LETTERS = "xyzw"
_FLOATS = (0.0, 0.5, 1.0, -1.0, 2.0, 0.1, -0.3, 3.14, 1e6, 1e-6, 1e30, -2.5, 65504.0)

Maker = tuple[float, Callable[[], str]]
"""A weight, and a function that writes an expression."""


class NumberGenerator:
    """Writes expressions of scalar types. The subclass writes those of other types.

    Args:
        rng: The source of all choices.
        mode: The range of floats, one of :data:`~worldloom.testing.generator.values.MODES`.
        helpers: The helpers that may be called.
    """

    def __init__(self, rng: random.Random, mode: str, helpers: list[HelperSpec]) -> None:
        self.rng, self.mode, self.helpers = rng, mode, helpers
        self.scope = Scope()
        self.in_helper = False

    def value(self, kind: Any, depth: int = 2, typed: bool = True) -> str:
        """An expression of any type."""
        raise NotImplementedError

    def truth(self, depth: int = 2) -> str:
        """An expression of type bool."""
        raise NotImplementedError

    def composite(self, kind: Type, depth: int) -> str:
        """An expression of a vector, matrix or quaternion type."""
        raise NotImplementedError

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def pick(self, makers: list[Maker]) -> str:
        """An expression of one of ``makers``, chosen by weight."""
        return self.rng.choices([make for _, make in makers], [weight for weight, _ in makers])[0]()

    # -- leaves ------------------------------------------------------------------------------------------------------

    def known(self, kind: Any) -> str | None:
        """A readable value of a type; None where there is none."""
        texts = self.scope.reads.get(kind)
        return self.rng.choice(texts) if texts else None

    def leaf(self, kind: Type, typed: bool) -> str:
        if not typed and self.chance(0.3):
            return self.literal(kind)
        text = self.known(kind) if self.chance(0.8) else None
        if text is None:
            text = self.element(kind)
        return text or self.cast(kind, self.literal(kind))

    def cast(self, kind: Type, text: str) -> str:
        return f"{kind}({text})"

    def element(self, kind: Type) -> str | None:
        """An element of an array or a vector; None where there is none."""
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
        if len(holder.shape) == 1 and holder.shape[0] <= len(LETTERS) and self.chance(0.6):
            return f"{text}.{self.rng.choice(LETTERS[: holder.shape[0]])}"
        return f"{text}[{', '.join(self.index(size) for size in holder.shape)}]"

    def index(self, size: int) -> str:
        """An index for ``size`` elements; rarely one that may be out of range."""
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
        index = self.whole(INT, 1)
        constant = index == "LIMIT" or index.startswith("len(")  # refused where it is out of range
        return f"{index} % {size}" if constant else index

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

    # -- integers -----------------------------------------------------------------------------------------------

    def whole(self, kind: Type, depth: int = 2, typed: bool = True) -> str:
        if depth <= 0 or self.chance(0.25):
            return self.leaf(kind, typed)
        makers: list[Maker] = [
            (5, lambda: self.arithmetic(kind, depth, ("+", "-", "*"))),
            (2, lambda: self.arithmetic(kind, depth, ("//", "%"))),
            (2, lambda: self.arithmetic(kind, depth, ("&", "|", "^"))),
            (1, lambda: self.arithmetic(kind, depth, ("<<", ">>"))),
            (1, lambda: self.negated(kind, depth)),
            (1.5, lambda: self.conditional(kind, depth)),
            (1.5, lambda: self.function(kind, depth)),
            (3 if kind == INT else 5, lambda: self.converted(kind, depth)),
            (0.5, lambda: f"({self.whole(kind, depth - 1)} ** {self.rng.choice((2, 3))})"),
            (1, lambda: self.called(kind, depth) or self.leaf(kind, typed)),
        ]
        if kind == INT:
            makers.append((0.7, lambda: self.special_int(depth)))
        return self.pick(makers)

    def negated(self, kind: Type, depth: int) -> str:
        return f"(-{self.whole(kind, depth - 1)})" if self.chance(0.6) else f"(~{self.whole(kind, depth - 1)})"

    def conditional(self, kind: Type, depth: int) -> str:
        then, test = self.value(kind, depth - 1), self.truth(depth - 1)
        return f"({then} if {test} else {self.value(kind, depth - 1, typed=False)})"

    def arithmetic(self, kind: Type, depth: int, operators: tuple[str, ...]) -> str:
        sides = [self.value(kind, depth - 1), self.other_side(kind, depth - 1)]
        if self.chance(0.5):
            sides.reverse()
        return f"({sides[0]} {self.rng.choice(operators)} {sides[1]})"

    def other_side(self, kind: Type, depth: int) -> str:
        """The other operand: of the same type, a literal, or of a narrower type."""
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
            name = self.rng.choice(("min", "max", "wl.min", "wl.max"))
            return f"{name}({a}, {self.value(kind, depth - 1, typed=False)})"
        if chosen == 2:
            name = self.rng.choice(("min", "max"))
            return f"{name}({a}, {self.value(kind, depth - 2, typed=False)}, {self.value(kind, depth - 2)})"
        if chosen == 3:
            return f"wl.clamp({a}, {self.literal(kind)}, {self.literal(kind)})"
        return f"wl.{self.rng.choice(('sign', 'nonzero'))}({a})"

    def converted(self, kind: Type, depth: int) -> str:
        """A conversion of a number of another type."""
        sources = [s for s in SCALARS if s != kind.scalar and (self.mode != "smooth" or s not in FLOATS)]
        present = [s for s in sources if Type(s) in self.scope.reads]
        source = Type(self.rng.choice(present or sources))
        return self.cast(kind, self.value(source, depth - 1))

    def called(self, kind: Type, depth: int) -> str | None:
        """A call of a helper that returns one value of a type."""
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
        if vector and self.mode != "any":
            return f"wl.{self.rng.choice(('argmin', 'argmax'))}({vector})"
        return self.leaf(INT, True)

    # -- floats ------------------------------------------------------------------------------------------------

    def real_literal(self) -> str:
        if self.mode == "smooth":
            return self.rng.choice(("0.5", "1.5", "0.3", "1.25", "2.0"))
        if self.mode == "dyadic":
            number = self.rng.randint(-6, 6) / 2
        else:
            number = self.rng.choice((*_FLOATS, round(self.rng.gauss(0, 10), 3)))
        return f"({number})" if number < 0 else str(number)

    def real(self, kind: Type, depth: int = 2, typed: bool = True) -> str:
        if depth <= 0 or self.chance(0.25):
            return self.leaf(kind, typed)
        if self.mode == "dyadic":
            return self.dyadic(kind, depth)
        operators = ("+", "*", "/") if self.mode == "smooth" else ("+", "-", "*", "/")
        makers: list[Maker] = [
            (6, lambda: self.arithmetic(kind, depth, operators)),
            (1.5, lambda: self.conditional(kind, depth)),
            (1.5, lambda: self.extreme_real(kind, depth)),
            (0.7, lambda: f"wl.sqrt({'' if self.mode == 'smooth' else 'abs'}({self.real(kind, depth - 1)}))"),
            (0.5, lambda: f"({self.real(kind, depth - 1)} ** {self.rng.choice((2, 3))})"),
            (1, lambda: self.called(kind, depth) or self.leaf(kind, typed)),
            (1, lambda: self.from_vector(depth) if kind == FLOAT else self.leaf(kind, typed)),
        ]
        if self.mode == "any":
            makers += [
                (0.7, lambda: self.arithmetic(kind, depth, ("//", "%"))),
                (1, lambda: self.applied(kind, depth, ("floor", "ceil", "trunc", "rint", "sign", "frac"))),
                (0.7, lambda: f"(-{self.real(kind, depth - 1)})"),
                (0.7, lambda: f"abs({self.real(kind, depth - 1)})"),
                (1.5, lambda: self.converted(kind, depth)),
                (0.5, lambda: self.quotient(depth) if kind == FLOAT else self.leaf(kind, typed)),
                (0.5, lambda: f"wl.lerp({', '.join(self.real(kind, depth - 2) for _ in range(3))})"),
            ]
        else:
            makers.append((1, lambda: self.cast(kind, f"{self.whole(INT, 1)} % 5 + 1")))
        return self.pick(makers)

    def applied(self, kind: Type, depth: int, functions: tuple[str, ...]) -> str:
        """One of some functions of one float."""
        return f"wl.{self.rng.choice(functions)}({self.real(kind, depth - 1)})"

    def quotient(self, depth: int) -> str:
        return f"({self.whole(INT, depth - 1)} / {self.whole(INT, depth - 1)})"

    def extreme_real(self, kind: Type, depth: int) -> str:
        """The minimum or maximum of two. 0 is added since devices may choose either of 0.0 and -0.0 in fast mode."""
        a, b = self.real(kind, depth - 1), self.real(kind, depth - 1)
        return f"({self.rng.choice(('min', 'max'))}({a}, {b}) + 0.0)"

    def from_vector(self, depth: int) -> str:
        kind = self.rng.choice((VEC2, VEC3, VEC4))
        a, b = self.composite(kind, min(depth - 1, 1)), self.composite(kind, min(depth - 1, 1))
        return self.rng.choice((f"wl.dot({a}, {b})", f"wl.length_sq({a})", f"wl.length({a})"))

    def factor(self, kind: Type) -> str:
        """A small multiple of one half."""
        text = self.leaf(kind, True)
        return f"keep({text})" if kind == FLOAT else text

    def dyadic(self, kind: Type, depth: int) -> str:
        """Sums and products of small dyadic numbers, which are exact."""
        if kind != FLOAT:
            return self.leaf(kind, True)
        inner = functools.partial(self.real, kind, depth - 1)
        makers: list[Maker] = [
            (4, lambda: f"({inner()} {self.rng.choice('+-')} {inner(typed=False)})"),
            (4, lambda: f"({self.factor(kind)} * {self.factor(kind)})"),
            (2, lambda: self.conditional(kind, depth)),
            (1, lambda: f"{self.rng.choice(('min', 'max'))}({inner()}, {inner()})"),
            (1, lambda: f"(-{inner()})"),
            (1, lambda: f"abs({inner()})"),
            (1, lambda: self.applied(kind, depth, ("floor", "ceil", "rint"))),
            (1, lambda: f"float({self.whole(INT, 1)} % 8)"),
            (1, lambda: self.called(kind, depth) or self.leaf(kind, True)),
        ]
        return self.pick(makers)
