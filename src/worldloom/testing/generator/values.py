"""Initial values for the columns of generated worlds: small and large numbers, limits of types, infinities and NaN.

The values of a column depend only on its name and a seed, so that a shrunk world keeps the values of its remaining
columns.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from worldloom.testing.reference.tables import Kind
from worldloom.testing.reference.types import FLOATS, Component, RefType

MODES = ("any", "dyadic", "smooth")
"""The floats of a world.

``any``: all floats, with infinities and NaN. ``dyadic``: small multiples of one half, whose sums and products are
    exact.
``smooth``: positive numbers without differences, so that rounding errors stay small.
"""

Generator = np.random.Generator


def column_values(
    kind: Kind, component: Component, num_worlds: int, seed: int, mode: str, kinds: dict[str, Kind]
) -> Any:
    """Values for all rows of all worlds, shape (num_worlds, rows, ...)."""
    generator = np.random.default_rng([seed, zlib.crc32(f"{kind.name}.{component.name}".encode())])
    shape = (num_worlds, kind.rows, *component.value_shape)
    if isinstance(component.type, RefType):
        other = kinds[component.type.kind]
        return generator.integers(-1, 0 if other.varies else other.rows, shape, dtype=np.int64)
    finite = component.finite or component.role == "config"
    return numbers(component.scalar, shape, generator, "dyadic" if finite and mode == "any" else mode)


def action_values(component: Component, shape: tuple[int, ...], seed: int, step: int) -> Any:
    """Actions for one step. One in twenty does not exist, in every second world file one in three."""
    generator = np.random.default_rng([seed, step, zlib.crc32(component.name.encode())])
    actions = generator.integers(0, component.choices, shape, dtype=np.int32)
    invalid = generator.random(shape) < (0.05 if seed % 2 else 0.33)
    outside = np.array([component.choices, component.choices + 3, -1, -(2**31), 2**31 - 1], np.int32)
    return np.where(invalid, generator.choice(outside, shape), actions)


def numbers(scalar: str, shape: tuple[int, ...], generator: Generator, mode: str) -> Any:
    """Random numbers of one scalar type."""
    if scalar == "bool":
        return generator.random(shape) < 0.5
    if scalar in FLOATS:
        return _floats(scalar, shape, generator, mode)
    info = np.iinfo(scalar)
    low = 0 if info.min == 0 else -6
    small = generator.integers(low, 12, shape).astype(scalar)
    limits = np.array([info.min, info.max, info.min + 1, info.max - 1, 0, 1, info.max // 2 + 1], scalar)
    wide = generator.integers(info.min, info.max, shape, dtype=scalar, endpoint=True)
    choice = generator.random(shape)
    return np.where(choice < 0.6, small, np.where(choice < 0.8, generator.choice(limits, shape), wide)).astype(scalar)


def _floats(scalar: str, shape: tuple[int, ...], generator: Generator, mode: str) -> Any:
    if mode == "dyadic":
        return (generator.integers(-16, 17, shape) / 2).astype(scalar)
    if mode == "smooth":
        return generator.uniform(0.5, 2.0, shape).astype(scalar)
    info = np.finfo(scalar)
    special = [np.nan, np.inf, -np.inf, 0.0, -0.0, info.max, -info.max, info.tiny, 0.5, 1.0, -1.0, 2.0**31, -(2.0**31)]
    small = generator.integers(-16, 17, shape) / 2
    wide = generator.standard_normal(shape) * 10.0 ** generator.integers(-3, 4, shape)
    choice = generator.random(shape)
    with np.errstate(over="ignore"):
        limits = generator.choice(np.array(special).astype(scalar), shape)
        return np.where(choice < 0.4, small, np.where(choice < 0.85, wide, limits)).astype(scalar)
