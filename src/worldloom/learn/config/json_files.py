"""JSON from files that may have been altered: parsed within limits, and checked value by value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from worldloom.core.base.files import read_file

MAX_FILE_BYTES = 64 << 20
"""Bytes of a JSON file that is read whole; those of a run have a few thousand."""
MAX_DEPTH = 32
"""Lists and objects within each other. What walks through the values recursively needs not fear more."""
MAX_COUNT = 2**62
"""Counters are smaller; larger ones would overflow int64 while a training counts on."""


def read_json(file: Path) -> Any:
    """What a JSON file holds. OSError where it cannot be read, ValueError where it is no JSON, or nested too deeply."""
    return parse_json(read_file(file, MAX_FILE_BYTES))


def parse_json(data: bytes) -> Any:
    """The value of a JSON text in UTF-8; ValueError where it is none, or nested more than DEEPEST deep."""
    try:
        value = json.loads(data.decode("utf-8"))
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError:
        raise
    except ValueError:  # Python's own limit
        raise ValueError("a number has thousands of digits") from None
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return value
    raise ValueError(f"its values are nested more than {MAX_DEPTH} deep")


def is_count(value: Any) -> bool:
    """Whether ``value`` is a whole number from 0 that a counter can hold."""
    return type(value) is int and 0 <= value < MAX_COUNT


def as_float(value: Any) -> float:
    """``value``, a number, as a float; ValueError where it is none. Infinities and NaN are floats."""
    if type(value) not in (int, float):
        raise ValueError(f"{short_repr(value)} is no number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{short_repr(value)} is too large") from None


def short_repr(value: Any) -> str:
    """``value`` as Python writes it, cut off after 80 characters: what a message can show of any value from a file."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, (list, tuple, dict)) and len(value) > 40:
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value):,} values"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number with more digits than Python writes, somewhere within
        return f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."
