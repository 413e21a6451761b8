"""Tensors from a checkpoint, checked before they are taken over.

A checkpoint may have been altered together with its digest. Kernels use some of these numbers as places in memory, so nothing is taken over
that a training could not have written: another shape or type, an index out of range, a parameter that is not finite.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.config.json_files import MAX_COUNT

Ranges = Mapping[str, tuple[float, float]]
"""The least and the greatest value of each tensor that has bounds, by name."""

FLOAT32_MAX = torch.finfo(torch.float32).max
COUNTER_RANGE = (0, MAX_COUNT)
"""The range of a number that counts steps, draws or batches."""
OPTIMIZER_RANGES: Ranges = {
    "optimizer/learning_rate": (0.0, FLOAT32_MAX),
    "optimizer/square": (0.0, FLOAT32_MAX),
    "optimizer/powers": (0.0, 1.0),
}
"""Those of the optimiser's tensors that have bounds."""
FINITE_PREFIXES = ("policy/", "target/", "optimizer/", "scale/", "rows/state", "rows/scale/")
"""Names of tensors that hold finite numbers only begin so."""


def load_checked(
    whose: str,
    own: Mapping[str, torch.Tensor],
    saved: Mapping[str, torch.Tensor],
    ranges: Ranges,
    optional: tuple[str, ...] = (),
) -> None:
    """Copy ``saved`` into the tensors of ``own``; InputError, with nothing copied, where they do not fit.

    Args:
        whose: What they belong to, for messages.
        own: Where they go, by name.
        saved: What was saved, by name.
        ranges: Bounds of some of them.
        optional: Those of ``own`` whose names begin so may be missing in ``saved``; they stay as they are.
    """
    missing = sorted(name for name in own if name not in saved and not name.startswith(optional or ("\0",)))
    if missing:
        raise InputError(
            f"the saved {whose} does not fit: it has no '{missing[0]}'; train with the settings it was saved with"
        )
    for name, tensor in saved.items():
        if name not in own or own[name].shape != tensor.shape or own[name].dtype != tensor.dtype:
            found = f"'{name}' of shape {tuple(tensor.shape)} and type {str(tensor.dtype).removeprefix('torch.')}"
            raise InputError(f"the saved {whose} does not fit: {found}; train with the settings it was saved with")
        if name in ranges:
            require_range(f"'{name}' of the saved {whose}", tensor, *ranges[name])
        elif name.startswith(FINITE_PREFIXES) and tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise InputError(
                f"'{name}' of the saved {whose} is not finite, which no training saves: take another checkpoint"
            )
    with torch.no_grad():
        for name, tensor in saved.items():
            own[name].copy_(tensor)


def require_range(what: str, values: torch.Tensor, least: float, greatest: float) -> None:
    """InputError unless all ``values`` lie between ``least`` and ``greatest``, both included; NaN does not."""
    if not bool(((values >= least) & (values <= greatest)).all()):
        raise InputError(
            f"{what} is not between {least:g} and {greatest:g}, which no training saves: take another checkpoint"
        )


def require_choices(what: str, actions: torch.Tensor, sizes: tuple[int, ...]) -> None:
    """InputError unless ``actions`` [..., parts] hold choices of a categorical action with ``sizes`` choices in each part."""
    for part, size in enumerate(sizes):
        require_range(what, actions[..., part], 0, size - 1)
