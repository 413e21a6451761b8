# mypy: ignore-errors
"""Kernels around MuJoCo Warp: faults of a step, worlds with faults, and worlds that begin an episode."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.launch_kernels import picked
from worldloom.robots.faults import CONSTRAINTS, CONTACTS, POSITION, VELOCITY

TOO_MANY_CONSTRAINTS = wp.constant(int(CONSTRAINTS))
TOO_MANY_CONTACTS = wp.constant(int(CONTACTS))
BAD_POSITION = wp.constant(int(POSITION))
BAD_VELOCITY = wp.constant(int(VELOCITY))
LIMIT = wp.constant(1.0e10)
"""MuJoCo's limit of positions and velocities."""


@wp.kernel(enable_backward=False)
def collect_faults(
    overflow: wp.array(dtype=int), constraint_bits: int, contact_bits: int, qpos: wp.array2d(dtype=float),
    qvel: wp.array2d(dtype=float),
    # outputs
    faults: wp.array(dtype=wp.int32),
):  # fmt: skip
    """Faults of a world's last step, from the bits of overflows and from its state; thread (world). Clears the bits."""
    world = wp.tid()
    bits = int(0)
    if overflow[world] & constraint_bits:
        bits = bits | TOO_MANY_CONSTRAINTS
    if overflow[world] & contact_bits:
        bits = bits | TOO_MANY_CONTACTS
    overflow[world] = 0
    for i in range(qpos.shape[1]):
        if not (wp.abs(qpos[world, i]) < LIMIT):
            bits = bits | BAD_POSITION
    for i in range(qvel.shape[1]):
        if not (wp.abs(qvel[world, i]) < LIMIT):
            bits = bits | BAD_VELOCITY
    faults[world] = bits


@wp.kernel(enable_backward=False)
def clear_faulted(
    faults: wp.array(dtype=wp.int32), initial: wp.array(dtype=float),
    # outputs
    column: wp.array2d(dtype=float),
):  # fmt: skip
    """Write the initial values of an array where a world has a fault; thread (world, number).

    Its numbers may be huge or not finite, and systems compute rewards from them before the world is reset.
    """
    world, k = wp.tid()
    if faults[world] != 0:
        column[world, k] = initial[k]


@wp.kernel(enable_backward=False)
def copy_selected(
    mask: wp.array(dtype=wp.bool), value: bool, source: wp.array2d(dtype=float),
    # outputs
    target: wp.array2d(dtype=float),
):  # fmt: skip
    """Copy the rows of the selected worlds; thread (world, number)."""
    world, k = wp.tid()
    if picked(mask, value, world):
        target[world, k] = source[world, k]
