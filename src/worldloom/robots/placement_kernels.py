# mypy: ignore-errors
"""Kernels that draw joint positions, and repeat the draw while geoms of the model touch."""

from __future__ import annotations

from typing import Any

import warp as wp

from worldloom.core.kernels import random
from worldloom.core.kernels.launch_kernels import picked

UNIFORM, QUATERNION, POSITIVE_QUATERNION, CLIMB, COPY = (wp.constant(kind) for kind in range(5))
"""Kinds of draws, see :class:`~worldloom.robots.placement.Draw`."""

COUNT_CONTACTS = """
typedef void (*Call)(const void*, void*);
char* const* memory = (char* const*)arrays.data;
for (int k = 0; k < copied_in; ++k)
    __builtin_memcpy(memory[2 * k + 1], memory[2 * k] + (long)world * sizes.data[k], sizes.data[k]);
((Call)position_function)((const void*)model_address, (void*)data_address);
return *(const int*)contact_count;
"""
"""Load a world into ``mjData``, compute all that depends on positions, and return the number of contacts."""


@wp.func_native(COUNT_CONTACTS)
def count_contacts(
    world: int, model_address: wp.uint64, data_address: wp.uint64, position_function: wp.uint64,
    contact_count: wp.uint64, arrays: wp.array(dtype=wp.uint64), sizes: wp.array(dtype=wp.int32), copied_in: int,
) -> int: ...  # fmt: skip


@wp.func
def draw_uniform(seed: wp.uint32, attempt: int, draw: int, low: wp.float64, high: wp.float64):
    """A number between ``low`` and ``high``."""
    return low + wp.float64(random.uniform(seed, 0, 0, attempt, 0, draw, 0.0, 1.0)) * (high - low)


@wp.func
def draw_positions(
    seed: wp.uint32, attempt: int, index: int, world: int, kind: int, address: int, low: wp.float64, high: wp.float64,
    qpos: wp.array2d(dtype=Any),
):  # fmt: skip
    """Set the positions of one draw. Each draw has eight random numbers."""
    first = 8 * index
    if kind == UNIFORM:
        qpos[world, address] = qpos.dtype(draw_uniform(seed, attempt, first, low, high))
    elif kind == CLIMB:
        height = low
        if attempt > 0:
            height = wp.float64(qpos[world, address]) + high
        qpos[world, address] = qpos.dtype(height)
    elif kind == COPY:
        qpos[world, address] = qpos[world, int(low)]
    else:
        squares = wp.float64(0.0)
        for i in range(4):
            number = draw_uniform(seed, attempt, first + i, wp.float64(0.0), wp.float64(1.0))
            if kind == QUATERNION:
                number = wp.float64(random.normal(seed, 0, 0, attempt, 0, first + 2 * i, 0.0, 1.0))
            qpos[world, address + i] = qpos.dtype(number)
            squares += number * number
        for i in range(4):
            qpos[world, address + i] = qpos[world, address + i] / qpos.dtype(wp.sqrt(squares))


@wp.kernel(enable_backward=False)
def place_worlds(
    first: int, count: int, mask: wp.array(dtype=wp.bool), value: bool, model_address: wp.uint64,
    data_address: wp.uint64, position_function: wp.uint64, contact_count: wp.uint64, arrays: wp.array(dtype=wp.uint64),
    sizes: wp.array(dtype=wp.int32), copied_in: int, draws: wp.array2d(dtype=wp.int32),
    bounds: wp.array2d(dtype=wp.float64), attempts: int, seeds: wp.array(dtype=wp.int32),
    # outputs
    qpos: wp.array2d(dtype=wp.float64), placed: wp.array(dtype=wp.bool),
):  # fmt: skip
    """Draw the positions of ``count`` worlds from ``first`` on, at most ``attempts`` times each. One thread.

    Args:
        first, count, mask, value: The worlds, see :class:`~worldloom.core.model.launch.Shard`.
        model_address, data_address: ``mjModel`` and ``mjData``.
        position_function: Detects the contacts of the loaded positions; 0 where contacts are allowed.
        contact_count: Address of the number of contacts.
        arrays, sizes, copied_in: As in :func:`~worldloom.robots.c_engine_kernels.run_worlds`.
        draws: Kind, address and whether it is repeated of each draw.
        bounds: Low and high of each draw.
        attempts: The largest number of draws.
        seeds: Seed of the draws of each world.
        qpos: Positions, shape (num_worlds, nq).
        placed: Whether the positions of each world have no contacts, or contacts are allowed.
    """
    for i in range(count):
        world = first + i
        if picked(mask, value, world):
            placed[world] = False
            attempt = int(0)
            while attempt < attempts and not placed[world]:
                for k in range(draws.shape[0]):
                    if attempt == 0 or draws[k, 2] != 0:
                        draw_positions(
                            wp.uint32(seeds[world]), attempt, k, world, draws[k, 0], draws[k, 1], bounds[k, 0],
                            bounds[k, 1], qpos,
                        )  # fmt: skip
                contacts = int(0)
                if position_function != wp.uint64(0):
                    contacts = count_contacts(
                        world, model_address, data_address, position_function, contact_count, arrays, sizes, copied_in
                    )  # fmt: skip
                placed[world] = contacts == 0
                attempt += 1
