# mypy: ignore-errors
"""Kernel of the moments of actuators that pull at fixed tendons."""

from __future__ import annotations

import warp as wp


@wp.kernel(enable_backward=False)
def scale_moments(
    tendons: wp.array(dtype=wp.int32), tendon_adr: wp.array(dtype=int), tendon_num: wp.array(dtype=int),
    wrap_objid: wp.array(dtype=int), jnt_dofadr: wp.array(dtype=int), gears: wp.array2d(dtype=wp.spatial_vector),
    wrap_prm: wp.array2d(dtype=float), row_counts: wp.array2d(dtype=int), row_starts: wp.array2d(dtype=int),
    columns: wp.array2d(dtype=int),
    # outputs
    moments: wp.array2d(dtype=float),
):  # fmt: skip
    """Moments from coefficients; thread (world, actuator).

    Args:
        tendons: The tendon of each actuator; -1 for none.
        tendon_adr, tendon_num, wrap_objid, jnt_dofadr, gears: Of the model.
        wrap_prm: Coefficients of all tendons, shape (num_worlds, nwrap).
        row_counts, row_starts, columns: Sparsity of the moments.
        moments: Moments of the actuators, sparse.
    """
    world, actuator = wp.tid()
    tendon = tendons[actuator]
    if tendon < 0:
        return
    gear = gears[world % gears.shape[0], actuator][0]
    start = row_starts[world, actuator]
    for k in range(row_counts[world, actuator]):
        sum = float(0.0)
        for j in range(tendon_num[tendon]):
            wrap = tendon_adr[tendon] + j
            if jnt_dofadr[wrap_objid[wrap]] == columns[world, start + k]:
                sum += wrap_prm[world, wrap]
        moments[world, start + k] = sum * gear
