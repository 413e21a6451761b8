"""Functions of vectors, and element-wise functions of all composites, in the order of Warp's ``vec.h``.

Each function is generated for one type, as source with unrolled loops: interpreted systems spend most time here.
"""

from __future__ import annotations

from typing import Any

import warp as wp

from worldloom.core.arithmetic.scalars import Function, ScalarMath, scalar_math
from worldloom.core.arithmetic.values import interpreted, size_of
from worldloom.core.model.dtypes import scalar_of


def _listed(pattern: str, size: int, joint: str = ", ") -> str:
    """``pattern`` for every number of a vector; ``{i}`` is its index."""
    return joint.join(pattern.format(i=i) for i in range(size))


def _unpack(letter: str, size: int) -> str:
    """The statement that unpacks the vector ``a`` into ``a0, a1, ...``."""
    return f"{_listed(letter + '{i}', size)}, = {letter}"


def _compile(name: str, parameters: str, lines: list[str], space: dict[str, Any]) -> Function:
    """The function ``name`` of these lines."""
    text = "\n".join([f"def function({parameters}):", *(f"    {line}" for line in lines)])
    space = dict(space)
    exec(text, space)  # noqa: S102
    function: Function = space["function"]
    function.__name__ = name
    return function


class Elementwise:
    """Element-wise functions of vectors, matrices, quaternions and transforms."""

    def __init__(self, dtype: Any) -> None:
        self.of: ScalarMath = scalar_math(scalar_of(dtype))
        self.size, self.create = size_of(dtype), interpreted(dtype)
        self._space: dict[str, Any] = {"create": self.create, "one": self.of.one, "zero": self.of.zero}

    def _result(self, pattern: str) -> str:
        return f"return create(({_listed(pattern, self.size)},))"

    def write(self, name: str, parameters: str, pattern: str, *before: str, **space: Any) -> Function:
        """The function whose result has ``pattern`` at every index; parameters in capitals are vectors."""
        unpacked = [_unpack(p.lower(), self.size) for p in parameters.split(", ") if p.isupper()]
        return _compile(name, parameters.lower(), [*unpacked, *before, self._result(pattern)], {**self._space, **space})

    def build(self, name: str) -> Function:
        """The function ``name`` for this type; ``mul_scalar`` and ``scalar_mul`` have a number on the right or left."""
        forms: dict[str, tuple[str, ...]] = {
            "add": ("A, B", "a{i} + b{i}"),
            "sub": ("A, B", "a{i} - b{i}"),
            "cw_mul": ("A, B", "a{i} * b{i}"),
            "neg": ("A", "-a{i}"),
            "mul_scalar": ("A, s", "a{i} * s"),
            "scalar_mul": ("s, A", "a{i} * s"),
            "abs": ("A", "abs(a{i})"),
            "lerp": ("A, B, t", "a{i} * u + b{i} * t", "u = one - t"),
        }
        if name in forms:
            parameters, pattern, *before = forms[name]
            return self.write(name, parameters, pattern, *before)
        if name in ("min", "max", "sign"):
            parameters, pattern = ("A", "f(a{i})") if name == "sign" else ("A, B", "f(a{i}, b{i})")
            return self.write(name, parameters, pattern, f=self.of[name])
        quotients = {
            "cw_div": ("A, B", "a{i}", "b{i}"),
            "div_scalar": ("A, s", "a{i}", "s"),
            "scalar_div": ("s, A", "s", "a{i}"),
        }
        parameters, over, under = quotients[name]
        return self.write(
            name, parameters, f"{over} / {under}" if self.of.real else f"f({over}, {under})", f=self.of["div"]
        )


class Vector(Elementwise):
    """Functions of vectors of one type, which quaternions share."""

    starts_at_zero = True
    """Whether longer sums start with 0, which turns -0.0 into 0.0: true for vectors, false for quaternions."""

    def _dot(self, left: str, right: str) -> str:
        products = _listed(f"{left}{{i}} * {right}{{i}}", self.size, " + ")
        return products if self.size in (2, 3) or not self.starts_at_zero else f"zero + {products}"

    def dot(self) -> Function:
        return _compile(
            "dot",
            "a, b",
            [_unpack("a", self.size), _unpack("b", self.size), f"return {self._dot('a', 'b')}"],
            self._space,
        )

    def length_sq(self) -> Function:
        return _compile("length_sq", "a", [_unpack("a", self.size), f"return {self._dot('a', 'a')}"], self._space)

    def length(self) -> Function:
        lines = [_unpack("a", self.size), f"return root({self._dot('a', 'a')})"]
        return _compile("length", "a", lines, {**self._space, "root": self.of["sqrt"]})

    def normalize(self) -> Function:
        lines = [
            _unpack("a", self.size),
            f"size = root({self._dot('a', 'a')})",
            "if not size > zero:",
            "    return zeros",
            self._result("a{i} / size"),
        ]
        zeros = self.create([self.of.zero] * self.size)
        return _compile("normalize", "a", lines, {**self._space, "root": self.of["sqrt"], "zeros": zeros})

    def cross(self) -> Function:
        create = self.create

        def cross(a: Any, b: Any) -> Any:
            a0, a1, a2 = a
            b0, b1, b2 = b
            return create((a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0))

        return cross

    def extreme(self, name: str) -> Function:
        """The smallest or the largest number."""
        choose = self.of[name]

        def extreme(a: Any) -> Any:
            best, *rest = a
            for number in rest:
                best = choose(best, number)
            return best

        return extreme

    def arg_extreme(self, name: str) -> Function:
        """The index of the first smallest or largest number; NaN is skipped."""
        index = scalar_math(wp.uint32).cast
        better = (lambda a, b: a < b) if name == "argmin" else (lambda a, b: a > b)

        def arg_extreme(a: Any) -> Any:
            best = -1
            for i, number in enumerate(a):
                if number == number and (best < 0 or better(number, a[best])):
                    best = i
            return index(max(best, 0))

        return arg_extreme


def any_of(test: Function) -> Function:
    """Whether ``test`` is true of any number of a value."""
    return lambda a: any(test(n) for n in tuple(a))


def all_of(test: Function) -> Function:
    """Whether ``test`` is true of every number of a value."""
    return lambda a: all(test(n) for n in tuple(a))
