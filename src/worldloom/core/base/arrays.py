"""Conversion and checks of arguments."""

from __future__ import annotations

from typing import Any

import numpy as np
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.base.pinned_memory import MIN_BYTES, PINNED_MEMORY


def to_numpy(value: Any, what: str, dtype: np.dtype[Any] | None = None) -> np.ndarray[Any, Any]:
    """``value``, from any device, as a NumPy array.

    Raises InputError if it is none, such as rows of different lengths.
    """
    if hasattr(value, "detach"):
        value = value.detach().cpu().numpy()
    try:
        return np.asarray(value, dtype)
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(f"{what} cannot be read as an array: {str(error).rstrip('.')}") from None


def to_host(array: wp.array) -> np.ndarray[Any, Any]:
    """The values of an array: its memory on the CPU, a copy of it on a GPU.

    It can run in several threads, unlike ``wp.array.numpy``: that replaces the current stream of the device meanwhile,
    and if two threads do so at once, the stream remains replaced.
    """
    if array.device.is_cuda:
        locked = array.is_contiguous and array.capacity >= MIN_BYTES
        copy = PINNED_MEMORY.empty_like(array) if locked else None
        if copy is None:
            copy = wp.empty(array.shape, dtype=array.dtype, device="cpu")
        wp.copy(copy, array, stream=array.device.null_stream)  # after the work on all other streams
        wp.synchronize_stream(array.device.null_stream)
        array = copy
    values: np.ndarray[Any, Any] = array.numpy()
    return values


def checked_int(name: str, value: Any, minimum: int, maximum: int = 2**31 - 1) -> int:
    """``value`` as an int. Raises InputError if it is no whole number from ``minimum`` to ``maximum``."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)) or value < minimum:
        raise InputError(f"{name} must be a whole number of {minimum} or more, not {value!r}")
    if value > maximum:
        raise InputError(f"{name} must be at most {maximum:,}, not {value}")
    return int(value)


def check_flags(**flags: Any) -> None:
    """Raise InputError if one of ``flags`` is neither True nor False: the text "no" would count as True."""
    for name, value in flags.items():
        if not isinstance(value, (bool, np.bool_)):
            raise InputError(f"{name} is True or False, not {value!r}")
