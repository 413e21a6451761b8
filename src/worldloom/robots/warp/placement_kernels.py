# mypy: ignore-errors
"""Kernels of random placements with MuJoCo Warp: one attempt of all worlds that are not placed yet."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.launch_kernels import picked
from worldloom.robots.placement_kernels import draw_positions

CONSTRAINT = wp.constant(1)
"""Bit of the type of contacts that are constraints; others serve sensors alone."""


@wp.kernel(enable_backward=False)
def begin_placement(
    mask: wp.array(dtype=wp.bool), value: bool,
    # outputs
    placed: wp.array(dtype=wp.bool), attempt: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Make the selected worlds not placed, and ``attempt`` 0; thread (world)."""
    world = wp.tid()
    if world == 0:
        attempt[0] = 0
    if picked(mask, value, world):
        placed[world] = False


@wp.kernel(enable_backward=False)
def draw_attempt(
    mask: wp.array(dtype=wp.bool), value: bool, placed: wp.array(dtype=wp.bool), attempt: wp.array(dtype=wp.int32),
    draws: wp.array2d(dtype=wp.int32), bounds: wp.array2d(dtype=wp.float64), seeds: wp.array(dtype=wp.int32),
    # outputs
    qpos: wp.array2d(dtype=float),
):  # fmt: skip
    """Draw the positions of selected worlds that are not placed; thread (world).

    Draws, bounds and seeds as in :func:`~worldloom.robots.placement_kernels.place_worlds`.
    """
    world = wp.tid()
    if not picked(mask, value, world) or placed[world]:
        return
    for k in range(draws.shape[0]):
        if attempt[0] == 0 or draws[k, 2] != 0:
            draw_positions(
                wp.uint32(seeds[world]), attempt[0], k, world, draws[k, 0], draws[k, 1], bounds[k, 0], bounds[k, 1],
                qpos,
            )  # fmt: skip


@wp.kernel(enable_backward=False)
def count_world_contacts(
    num_contacts: wp.array(dtype=int), worlds: wp.array(dtype=int), types: wp.array(dtype=int),
    # outputs
    counts: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Add the contacts of each world to ``counts``; thread (contact)."""
    contact = wp.tid()
    if contact < num_contacts[0] and (types[contact] & CONSTRAINT) != 0:
        wp.atomic_add(counts, worlds[contact], 1)


@wp.kernel(enable_backward=False)
def finish_attempt(
    mask: wp.array(dtype=wp.bool), value: bool, num_pairs: wp.array(dtype=int), num_contacts: wp.array(dtype=int),
    capacity: int,
    # outputs
    counts: wp.array(dtype=wp.int32), placed: wp.array(dtype=wp.bool), unplaced: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Worlds without contacts are placed; ``unplaced`` becomes 1 where there are others; thread (world).

    No world is placed where pairs of geoms or contacts exceed ``capacity``, since some are missing then. Clears counts.
    """
    world = wp.tid()
    if picked(mask, value, world) and not placed[world]:
        if counts[world] == 0 and num_pairs[0] <= capacity and num_contacts[0] <= capacity:
            placed[world] = True
        else:
            unplaced[0] = 1
    counts[world] = 0


@wp.kernel(enable_backward=False)
def next_attempt(
    attempts: int,
    # outputs
    attempt: wp.array(dtype=wp.int32), unplaced: wp.array(dtype=wp.int32), again: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Whether there is another attempt; one thread. Clears ``unplaced``."""
    attempt[0] = attempt[0] + 1
    again[0] = 0
    if unplaced[0] != 0 and attempt[0] < attempts:
        again[0] = 1
    unplaced[0] = 0
