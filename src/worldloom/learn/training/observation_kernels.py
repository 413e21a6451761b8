# mypy: ignore-errors
"""Kernels that record where observations or parameters are not finite."""

from __future__ import annotations

import warp as wp

NEVER = 2**63 - 1
"""The record of nothing."""
KINDS = ("nan", "inf", "-inf")
"""What a number that is not finite may be, by its code in a record."""
CODES = 4
"""Number of codes: those of KINDS, rounded up to a power of two."""
FACTOR = wp.constant(wp.int64(CODES))
NOTHING = wp.constant(wp.int64(NEVER))


@wp.func
def _record(
    sample: int, element: int, values: wp.array2d(dtype=wp.float32), present: wp.array2d(dtype=wp.bool),
    valid: wp.array(dtype=wp.bool), rows: int, steps: wp.array(dtype=wp.int64), offset: int,
    first: wp.array(dtype=wp.int64),
):  # fmt: skip
    """See :func:`record_observations`."""
    value = values[sample, element]
    if wp.isfinite(value):
        return
    row = sample % rows
    if valid.shape[0] > 0:  # noqa: SIM102 (an empty array is not read)
        if not valid[row]:
            return
    if present.shape[0] > 0:  # noqa: SIM102
        if not present[sample, element // (values.shape[1] // present.shape[1])]:
            return
    kind = int(0)
    if not wp.isnan(value):
        kind = wp.where(value > 0.0, 1, 2)
    step = steps[0] + wp.int64(offset + sample // rows)
    place = (step * wp.int64(rows) + wp.int64(row)) * wp.int64(values.shape[1]) + wp.int64(element)
    wp.atomic_min(first, 0, place * FACTOR + wp.int64(kind))


@wp.kernel(enable_backward=False)
def record_observations(
    values: wp.array2d(dtype=wp.float32), present: wp.array2d(dtype=wp.bool), valid: wp.array(dtype=wp.bool),
    rows: int, steps: wp.array(dtype=wp.int64), offset: int, first: wp.array(dtype=wp.int64),
):  # fmt: skip
    """Lower the record ``first`` [1] to that of the element (sample, element) of ``values`` [S, E] if it is not finite.

    A record is ((step * rows + row) * E + element) * CODES + kind, so that the first step has the lowest one. Sample
    s is row ``s % rows`` at step ``steps[0] + offset + s // rows``. ``present`` [S, K] are the entities present, and
    ``valid`` [rows] the rows that count; empty for all.
    """
    sample, element = wp.tid()
    _record(sample, element, values, present, valid, rows, steps, offset, first)


@wp.kernel(enable_backward=False)
def record_harmful_observations(
    harmed: wp.array(dtype=wp.int32), threads: int, values: wp.array2d(dtype=wp.float32),
    present: wp.array2d(dtype=wp.bool), valid: wp.array(dtype=wp.bool), rows: int, steps: wp.array(dtype=wp.int64),
    offset: int, first: wp.array(dtype=wp.int64),
):  # fmt: skip
    """As :func:`record_observations`, if ``harmed`` [1] is 1; each of ``threads`` threads reads many samples."""
    if harmed[0] == 0:
        return
    for sample in range(wp.tid(), values.shape[0], threads):
        for element in range(values.shape[1]):
            _record(sample, element, values, present, valid, rows, steps, offset, first)


@wp.kernel(enable_backward=False)
def find_harm(parameters: wp.array(dtype=wp.float32), harmed: wp.array(dtype=wp.int32)):
    """Set ``harmed`` [1] to 1 where a parameter is not finite; thread (parameter)."""
    if not wp.isfinite(parameters[wp.tid()]):
        harmed[0] = 1


@wp.kernel(enable_backward=False)
def record_parameters(
    parameters: wp.array(dtype=wp.float32), steps: wp.array(dtype=wp.int64), diverged: wp.array(dtype=wp.int64)
):
    """Lower ``diverged`` [1] to the current step where a parameter is not finite."""
    if not wp.isfinite(parameters[wp.tid()]):
        wp.atomic_min(diverged, 0, steps[0])


@wp.kernel(enable_backward=False)
def forget_records(
    steps: wp.array(dtype=wp.int64), kept: int, sizes: wp.array(dtype=wp.int64), diverged: wp.array(dtype=wp.int64),
    first: wp.array(dtype=wp.int64),
):  # fmt: skip
    """Remove records from more than ``kept`` steps ago: later updates left the parameters finite.

    ``sizes`` are the records per step of each component.
    """
    component = wp.tid()
    if diverged[0] == NOTHING and first[component] != NOTHING:  # noqa: SIM102
        if first[component] // sizes[component] < steps[0] - wp.int64(kept):
            first[component] = NOTHING
