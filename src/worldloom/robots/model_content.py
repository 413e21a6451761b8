"""What a compiled model computes, independent of where its files are and of the last bits of its numbers."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

QUANTUM = 1e-12
"""Numbers are multiples of it, since sums that cancel leave other remainders on other machines."""
BITS = 24
"""Bits of a number that count."""
_LEFT_OUT = ("paths", "npaths", "nbuffer", "signature")
"""Attributes that depend on where files are, or on the process."""


def content_digest(mj_model: Any) -> str:
    """The SHA-256 of the arrays, sizes, options and statistics of an ``mjModel``, with rounded numbers."""
    digest = hashlib.sha256()
    for owner in (mj_model, mj_model.opt, mj_model.stat):
        for name in sorted(dir(owner)):
            if name.startswith("_") or name in _LEFT_OUT or name.endswith("_pathadr"):
                continue
            value = getattr(owner, name)
            if isinstance(value, (int, float, np.ndarray)):
                array = np.asarray(value)
                value = (_rounded(array) if array.dtype.kind == "f" else array).tobytes()
            if isinstance(value, bytes):
                digest.update(name.encode() + b"\0" + value)
    return digest.hexdigest()


def _rounded(numbers: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    multiples = np.round(numbers.astype(np.float64) / QUANTUM) * QUANTUM
    mantissas, exponents = np.frexp(multiples)
    return np.asarray(np.ldexp(np.round(mantissas * 2**BITS), exponents - BITS) + 0.0)  # without -0
