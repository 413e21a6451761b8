"""Numbers on the command line: integers such as ``1e6``, and schedules of real numbers such as ``0:0.01,1e6:0.001``."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, TypeVar

from tyro.constructors import ConstructorRegistry, PrimitiveConstructorSpec, PrimitiveTypeInfo

NumberT = TypeVar("NumberT", int, float)

MAX_DIGITS = 30
"""Maximum number of digits of an integer; no setting allows as many."""


def parse_integer(text: str) -> int:
    """The integer of ``1000000``, ``1_000_000``, ``1e6`` or ``2.5e3``; ValueError for any other number or text."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{text!r} is not a whole number, such as 1000000 or 1e6") from None
    if not number.is_finite() or number.adjusted() > MAX_DIGITS or number != number.to_integral_value():
        raise ValueError(f"{text!r} is not a whole number, such as 1000000 or 1e6")
    return int(number)


def integers() -> ConstructorRegistry:
    """Tyro's rules with :func:`parse_integer` for every integer."""
    registry = ConstructorRegistry()
    registry.primitive_rule(_integer_rule)
    return registry


def integers_and_schedules() -> ConstructorRegistry:
    """The same, with schedules wherever a real number is expected."""
    registry = integers()
    registry.primitive_rule(_schedule_rule)
    return registry


def _integer_rule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[int] | None:
    return _one_word("INT", parse_integer, _is_integer) if info.type is int else None


def _schedule_rule(info: PrimitiveTypeInfo) -> PrimitiveConstructorSpec[float] | None:
    return _one_word("FLOAT", _parse_real, _is_real) if info.type is float else None


def _one_word(
    metavar: str, parse: Callable[[str], NumberT], is_instance: Callable[[Any], bool]
) -> PrimitiveConstructorSpec[NumberT]:
    """A value of one word."""
    return PrimitiveConstructorSpec(
        nargs=1,
        metavar=metavar,
        instance_from_str=lambda words: parse(words[0]),
        is_instance=is_instance,
        str_from_instance=lambda value: [str(value)],
    )


def _parse_real(text: str) -> float:
    """A number, or a schedule; ValueError for any other text."""
    if ":" not in text:
        return float(text)
    from worldloom.core.base.errors import InputError
    from worldloom.learn.config.piecewise_linear import parse_points

    try:
        return parse_points(text)
    except InputError as error:
        raise ValueError(str(error)) from None


def _is_integer(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_real(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
