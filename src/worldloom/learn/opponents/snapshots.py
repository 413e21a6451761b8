"""The snapshots of a policy in a pool: parameters and statistics of every past self, stacked on the device."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from worldloom.learn.networks.memory_check import require_memory
from worldloom.learn.opponents.elo import INITIAL_RATING
from worldloom.learn.opponents.sampling import EMPTY
from worldloom.learn.training.restore_checks import COUNTER_RANGE, FLOAT32_MAX, Ranges

RATING_RANGE = (-1e6, 1e6)
"""The range of ratings in a checkpoint."""
MEMBERS = "members/"
"""Prefix of the names of the stacked tensors in a checkpoint."""


class SnapshotPool:
    """Up to ``size`` snapshots of ``policy``.

    Attributes:
        iterations: Iteration at which each slot was taken, int64 [size]; EMPTY for none.
        ratings: Elo rating of each slot, float64 [size].
    """

    def __init__(self, policy: nn.Module, size: int) -> None:
        state = policy.state_dict()
        device = next(iter(state.values())).device
        bytes_each = sum(value.numel() * value.element_size() for value in state.values())
        require_memory(f"a pool of {size:,} snapshots", size * bytes_each, device, "make the pool's size smaller")
        self.iterations = torch.full((size,), EMPTY, dtype=torch.int64, device=device)
        self.ratings = torch.full((size,), INITIAL_RATING, dtype=torch.float64, device=device)
        self._stacked = {name: value.new_zeros((size, *value.shape)) for name, value in state.items()}

    @torch.no_grad()
    def add(self, slot: int, policy: nn.Module, iteration: int, rating: Tensor) -> None:
        """Take a snapshot of ``policy`` into ``slot``, with the policy's current ``rating``."""
        for name, value in policy.state_dict().items():
            self._stacked[name][slot].copy_(value)
        self.iterations[slot].fill_(iteration)
        self.ratings[slot].copy_(rating)

    @torch.no_grad()
    def copy_to(self, policy: nn.Module, slot: Tensor) -> None:
        """Copy the snapshot in ``slot``, int64 [1] on the device, into the tensors of ``policy``."""
        for name, value in policy.state_dict().items():
            value.copy_(self._stacked[name].index_select(0, slot)[0])

    def mean_rating(self) -> Tensor:
        """Mean rating of the snapshots, float64 []; NaN where there are none."""
        filled = (self.iterations != EMPTY).double()
        return (self.ratings * filled).sum() / filled.sum()

    def tensors(self) -> dict[str, Tensor]:
        """The state, by name, for checkpoints."""
        stacked = {f"{MEMBERS}{name}": value for name, value in self._stacked.items()}
        return {"iterations": self.iterations, "ratings": self.ratings, **stacked}

    def ranges(self) -> Ranges:
        """Bounds of the saved tensors."""
        stacked = {
            f"{MEMBERS}{name}": (-FLOAT32_MAX, FLOAT32_MAX)
            for name, value in self._stacked.items()
            if value.is_floating_point()
        }
        return {"iterations": (EMPTY, COUNTER_RANGE[1]), "ratings": RATING_RANGE, **stacked}
