"""Checked loading of tensors from a checkpoint.

A checkpoint may have been altered together with its digest. Kernels use some of its numbers as memory indices, so
anything that a training could not have written is refused: another shape or type, an index out of range, a parameter
that is not finite.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.config.json_files import MAX_COUNT

Ranges = Mapping[str, tuple[float, float]]
"""Minimum and maximum of each tensor that has bounds, by name."""

FLOAT32_MAX = torch.finfo(torch.float32).max
COUNTER_RANGE = (0, MAX_COUNT)
"""The range of counters of steps, draws or batches."""
OPTIMIZER_RANGES: Ranges = {
    "optimizer/learning_rate": (0.0, FLOAT32_MAX),
    "optimizer/square": (0.0, FLOAT32_MAX),
    "optimizer/powers": (0.0, 1.0),
}
"""Bounds of the optimizer's tensors."""
FINITE_PREFIXES = (
    *("policy/", "target/", "critics/", "optimizer/", "critic_optimizer/", "temperature"),
    *("scale/", "values/", "rows/state", "rows/scale/", "rows/noise"),
)
"""Prefixes of tensors that must be finite."""


def load_checked(
    whose: str,
    own: Mapping[str, torch.Tensor],
    saved: Mapping[str, torch.Tensor],
    ranges: Ranges,
    optional: tuple[str, ...] = (),
) -> None:
    """Copy ``saved`` into the tensors of ``own``; InputError, with nothing copied, where they do not fit.

    Args:
        whose: The owner, for error messages.
        own: The destinations, by name.
        saved: The saved tensors, by name.
        ranges: Bounds of some of them.
        optional: Prefixes of names that may be missing in ``saved``; those tensors stay unchanged.
    """
    if len(own) > 1 and not saved:
        raise InputError(f"there is no saved {whose}: use the settings and the world that the training was saved with")
    missing = sorted(name for name in own if name not in saved and not name.startswith(optional or ("\0",)))
    if missing:
        raise InputError(
            f"the saved {whose} does not fit: it has no '{missing[0]}'; use the settings it was saved with"
        )
    for name in sorted(saved, key=lambda name: not name.startswith("policy/")):  # layers tell more than an optimizer
        tensor = saved[name]
        if name not in own or own[name].shape != tensor.shape or own[name].dtype != tensor.dtype:
            actual = f"'{name}' of shape {tuple(tensor.shape)} and type {str(tensor.dtype).removeprefix('torch.')}"
            here = f", and here {tuple(own[name].shape)}" if name in own and own[name].shape != tensor.shape else ""
            raise InputError(f"the saved {whose} does not fit: {actual}{here}; use the settings it was saved with")
    for name, tensor in saved.items():
        if name in ranges:
            require_range(f"'{name}' of the saved {whose}", tensor, *ranges[name])
        elif name.startswith(FINITE_PREFIXES) and tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise InputError(
                f"'{name}' of the saved {whose} is not finite, which no training saves: use another checkpoint"
            )
    with torch.no_grad():
        for name, tensor in saved.items():
            own[name].copy_(tensor)


def require_range(what: str, values: torch.Tensor, minimum: float, maximum: float) -> None:
    """InputError unless all ``values`` are in [minimum, maximum]. NaN is not."""
    if not bool(((values >= minimum) & (values <= maximum)).all()):
        raise InputError(
            f"{what} is not between {minimum:g} and {maximum:g}, which no training saves: use another checkpoint"
        )


def require_choices(what: str, actions: torch.Tensor, sizes: tuple[int, ...]) -> None:
    """InputError unless ``actions`` [..., parts] are choices of an action with ``sizes`` choices per part."""
    for part, size in enumerate(sizes):
        require_range(what, actions[..., part], 0, size - 1)
