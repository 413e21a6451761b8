"""Faults in a running batch: detected and counted in kernels, described on the host.

A fault buffer is an int32 array of shape (1 + CAPACITY, WIDTH). Row 0 holds the number of faults so far; each other row
holds the site, the world's id, its episode, its step, and the offending value.
"""

from __future__ import annotations

import numpy as np
import warp as wp

from worldloom.core.kernels.array_types import Bools2D, Ints, Ints2D

CAPACITY = 256
"""Faults that a buffer holds until they are read; later ones are only counted."""

WIDTH = 5


class Alarm:
    """A flag that kernels set and the host reads without a device synchronization: on CUDA it is pinned host memory."""

    def __init__(self, device: wp.Device) -> None:
        self._host = wp.zeros(1, dtype=wp.int32, device="cpu", pinned=device.is_cuda)
        self._view: np.ndarray = self._host.numpy()
        self.array = (
            wp.array(ptr=self._host.ptr, dtype=wp.int32, shape=(1,), device=device) if device.is_cuda else self._host
        )
        """The kernel argument."""

    @property
    def is_set(self) -> bool:
        return bool(self._view[0])

    def set(self) -> None:
        self._view[0] = 1

    def clear(self) -> None:
        self._view[0] = 0


@wp.func_native(
    snippet='int thread = blockDim.x * blockIdx.x + threadIdx.x; asm volatile("" : "+r"(thread)); return thread;'
)
def thread_number() -> wp.int32:
    """The index of this thread on CUDA, for launches of one dimension: Warp's own divides by the launch's shape.

    The inline assembly keeps the compiler from computing all addresses before the loop that Warp puts around a kernel,
    where they would occupy registers.
    """


@wp.func
def report_fault(
    errors: Ints2D, broken: Bools2D, steps: Ints, episodes: Ints, world: wp.int32, offset: wp.int32, site: wp.int32,
    value: wp.int32,
):  # fmt: skip
    """Mark the world as broken and record the fault if there is room; world -1: another thread reports it."""
    if world < 0:
        return
    broken[world, 0] = True
    place = wp.atomic_add(errors, 0, 0, 1) + 1
    if place < errors.shape[0]:
        errors[place, 0] = site
        errors[place, 1] = world + offset
        errors[place, 2] = episodes[world]
        errors[place, 3] = steps[world]
        errors[place, 4] = value


@wp.func
def checked_slot(
    slot: wp.int32, size: wp.int32,
    errors: Ints2D, broken: Bools2D, steps: Ints, episodes: Ints, world: wp.int32, offset: wp.int32, site: wp.int32,
):  # fmt: skip
    """``slot`` where it is below ``size``; otherwise 0, and a fault."""
    if slot < 0 or slot >= size:
        report_fault(errors, broken, steps, episodes, world, offset, site, slot)
        return wp.int32(0)
    return slot


@wp.func
def checked_index(
    index: wp.int32, size: wp.int32,
    errors: Ints2D, broken: Bools2D, steps: Ints, episodes: Ints, world: wp.int32, offset: wp.int32, site: wp.int32,
):  # fmt: skip
    """``index`` in range, from the end where it is negative; otherwise 0, and a fault."""
    if index < 0 and index >= -size:
        return index + size
    return checked_slot(index, size, errors, broken, steps, episodes, world, offset, site)


@wp.func
def clean_choice(choice: wp.int32, count: wp.int32):
    """``choice``, or 0 where it is out of range."""
    if choice < 0 or choice >= count:
        return wp.int32(0)
    return choice
