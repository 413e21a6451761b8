"""JSON from untrusted files: parsed within limits, and checked value by value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from worldloom.core.base.files import read_file
from worldloom.core.runtime.seeds import MAX_SEED

MAX_FILE_BYTES = 64 << 20
"""Maximum size of a JSON file. Those of a run have a few thousand bytes."""
MAX_DEPTH = 32
"""Maximum nesting of lists and objects, so that recursive code is safe."""
MAX_COUNT = 2**62
"""Upper bound of counters. Larger ones could overflow int64 during training."""


def read_json(file: Path) -> Any:
    """The value of a JSON file. OSError where it cannot be read, ValueError for invalid or too deeply nested JSON."""
    return parse_json(read_file(file, MAX_FILE_BYTES))


def parse_json(data: bytes) -> Any:
    """The value of a JSON text in UTF-8; ValueError for invalid JSON, or nesting deeper than MAX_DEPTH."""
    try:
        value = json.loads(data.decode("utf-8"))
    except RecursionError:
        raise ValueError("its values are nested too deeply") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"byte {error.start} is not UTF-8") from None
    except json.JSONDecodeError:
        raise
    except ValueError:  # Python's limit of digits
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
    """Whether ``value`` is an integer from 0 up to MAX_COUNT - 1."""
    return type(value) is int and 0 <= value < MAX_COUNT


def is_seed(value: Any) -> bool:
    """Whether ``value`` is a seed of 64 bits."""
    return type(value) is int and 0 <= value <= MAX_SEED


def as_float(value: Any) -> float:
    """``value`` as a float; ValueError where it is not a number. Infinities and NaN are floats."""
    if type(value) not in (int, float):
        raise ValueError(f"{short_repr(value)} is not a number")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{short_repr(value)} is too large") from None


def short_repr(value: Any) -> str:
    """``repr(value)``, cut off after 80 characters: for error messages about values from files."""
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"
    if isinstance(value, (list, tuple, dict)) and len(value) > 40:
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value):,} values"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # it contains a number with more digits than Python prints
        return f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:77]}..."
