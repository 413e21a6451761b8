"""Numbers that change during a training: piecewise-linear functions of the environment steps."""

from __future__ import annotations

import dataclasses
import math
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, TypeVar

from worldloom.core.base.errors import InputError
from worldloom.learn.config.json_files import MAX_COUNT, short_repr

ConfigT = TypeVar("ConfigT")


class PiecewiseLinear(float):
    """A setting that changes during training, linearly between points (steps, value).

    Before the first point it has the first value, after the last point the last value. Steps are environment steps,
    summed over all worlds, as in ``total_steps``. As a float it is its first value.

    Args:
        points: Pairs of steps and value, with increasing steps: ``PiecewiseLinear((0, 0.01), (1_000_000, 0.001))``.
    """

    points: tuple[tuple[int, float], ...]

    def __new__(cls, *points: Sequence[float]) -> PiecewiseLinear:
        checked = _checked_points(points)
        number = super().__new__(cls, checked[0][1])
        number.points = checked
        return number

    def at(self, steps: int) -> float:
        """The value after ``steps`` environment steps."""
        after = bisect_right(self.points, steps, key=lambda point: point[0])
        if after == 0:
            return self.points[0][1]
        if after == len(self.points):
            return self.points[-1][1]
        (start, first), (end, last) = self.points[after - 1], self.points[after]
        return first + (last - first) * ((steps - start) / (end - start))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PiecewiseLinear) and self.points == other.points

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.points)

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.points

    def __repr__(self) -> str:
        return f"PiecewiseLinear({', '.join(map(repr, self.points))})"

    def __str__(self) -> str:
        return format_points(self)


def parse_points(text: str) -> PiecewiseLinear:
    """The schedule of a text such as ``0:0.01,1e6:0.001``: points ``steps:value``; InputError for another form."""
    try:
        pairs = [(float(steps), float(value)) for steps, value in (point.split(":") for point in text.split(","))]
    except ValueError:
        raise InputError(
            f"a schedule is a list of points steps:value, such as 0:0.01,1e6:0.001, not {short_repr(text)}"
        ) from None
    return PiecewiseLinear(*pairs)


def format_points(schedule: PiecewiseLinear) -> str:
    """The text that :func:`parse_points` parses into ``schedule``."""
    return ",".join(f"{steps}:{value!r}" for steps, value in schedule.points)


def schedules(config: Any) -> dict[str, PiecewiseLinear]:
    """The settings of a config that change during training, by name."""
    values = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    return {name: value for name, value in values.items() if isinstance(value, PiecewiseLinear)}


def config_at(config: ConfigT, steps: int) -> ConfigT:
    """``config`` with the value of every schedule after ``steps`` environment steps."""
    current = {name: schedule.at(steps) for name, schedule in schedules(config).items()}
    return dataclasses.replace(config, **current) if current else config  # type: ignore[type-var]


def convert_points(config: Any) -> None:
    """Convert the lists of points among the float fields of a new frozen dataclass, during its ``__post_init__``."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if isinstance(value, (list, tuple)) and field.type in ("float", float):
            try:
                object.__setattr__(config, field.name, PiecewiseLinear(*value))
            except InputError as error:
                raise InputError(f"{field.name} cannot be {short_repr(value)}: {error}") from None


def check_schedules(config: Any, fixed: Sequence[str]) -> None:
    """InputError where a config is invalid at a point of its schedules.

    The conditions of a config bound single settings, or compare two. Such a condition that holds at all points also
    holds between them.

    Args:
        config: A config whose settings are valid at their first values.
        fixed: Names of the numbers that cannot change during training.
    """
    scheduled = schedules(config)
    for name in scheduled:
        if name in fixed:
            raise InputError(f"{name} cannot change during training: give one number instead of points")
    for steps in sorted({steps for schedule in scheduled.values() for steps, _ in schedule.points}):
        try:
            config_at(config, steps)
        except InputError as error:
            raise InputError(f"a schedule is invalid at step {steps:,}: {error}") from None


def _checked_points(points: Sequence[Any]) -> tuple[tuple[int, float], ...]:
    """``points`` as pairs of int and float; InputError where they are not points of a schedule."""
    if not points:
        raise InputError("a schedule needs at least one point (steps, value)")
    checked: list[tuple[int, float]] = []
    for point in points:
        if not isinstance(point, (list, tuple)) or len(point) != 2 or not all(map(_is_number, point)):
            raise InputError(
                f"a schedule consists of points (steps, value), such as (0, 0.01), not {short_repr(point)}"
            )
        steps, value = point
        if not math.isfinite(value) or not math.isfinite(steps) or steps != int(steps) or not 0 <= steps < MAX_COUNT:
            raise InputError(
                f"a point of a schedule has a whole number of steps and a finite value, not {short_repr(tuple(point))}"
            )
        if checked and steps <= checked[-1][0]:
            raise InputError(
                f"the steps of a schedule must increase from point to point, not go from {checked[-1][0]} to {steps}"
            )
        checked.append((int(steps), float(value)))
    return tuple(checked)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)
