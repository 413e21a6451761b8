"""Whether tests run all of their cases: ``make test`` runs a fixed sample of long lists, ``make test-thorough`` all."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import pytest

T = TypeVar("T")

THOROUGH = os.environ.get("WORLDLOOM_THOROUGH", "0") != "0"

only_thorough = pytest.mark.skipif(not THOROUGH, reason="runs in make test-thorough")
"""Marks a long test whose subject shorter tests cover too."""


def sample(cases: Iterable[T], count: int) -> list[T]:
    """``count`` of the cases, evenly spaced from the first on; all of them in ``make test-thorough``."""
    listed = list(cases)
    if THOROUGH or count >= len(listed):
        return listed
    return [listed[k * len(listed) // count] for k in range(count)]


def covering(*values: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Combinations in which every value of every list occurs; all combinations in ``make test-thorough``.

    There are as many combinations as the longest list has values. Shorter lists are repeated.
    """
    lists: list[Sequence[Any]] = [list(one) for one in values]
    if THOROUGH:
        return list(itertools.product(*lists))
    return [tuple(one[k % len(one)] for one in lists) for k in range(max(map(len, lists)))]
