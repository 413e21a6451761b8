"""Seeds that a user gives for worlds."""

from __future__ import annotations

from typing import Any

import numpy as np

from worldloom.core.base.arrays import to_numpy
from worldloom.core.base.errors import InputError
from worldloom.core.kernels.random import fold_seed


def folded_seeds(seeds: Any, num_worlds: int) -> Any:
    """Seeds as the 32 bits that worlds hold: one, or one per world."""
    array = to_numpy(seeds, "the seeds")
    if array.dtype.kind not in "iu" or array.shape not in ((), (num_worlds,)):
        expected = f"seeds are one whole number, or one per world, shape ({num_worlds},)"
        raise InputError(f"{expected}, not {array.dtype.name} of shape {array.shape}")
    if array.size and int(array.min()) < 0:
        raise InputError(f"seeds are 0 or more, not {int(array.min())}")
    return fold_seed(array.astype(np.uint64))
