# mypy: ignore-errors
"""The kernel that projects distributions of returns onto their support."""

from __future__ import annotations

import warp as wp

from worldloom.core.kernels.array_types import Floats, Floats2D


@wp.kernel(enable_backward=False)
def project_returns(
    probabilities: Floats2D, rewards: Floats, discounts: Floats, low: wp.float32, high: wp.float32, projected: Floats2D
):
    """The probability of atom ``atom`` after every return z has become reward + discount * z.

    A moved return is clipped to the support and shared by its two neighbours in proportion to its distance from them:
    atom k at distance d, in units of the spacing, gets max(0, 1 - d). The sum has a fixed order.
    """
    sample, atom = wp.tid()
    atoms = probabilities.shape[1]
    spacing = (high - low) / wp.float32(atoms - 1)
    total = wp.float32(0.0)
    for source in range(atoms):
        moved = rewards[sample] + discounts[sample] * (low + spacing * wp.float32(source))
        position = wp.clamp((moved - low) / spacing, 0.0, wp.float32(atoms - 1))
        total += probabilities[sample, source] * wp.max(0.0, 1.0 - wp.abs(position - wp.float32(atom)))
    projected[sample, atom] = total
