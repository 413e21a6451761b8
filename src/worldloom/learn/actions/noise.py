"""Gaussian noise for continuous actions, drawn on the device from a counter-based generator."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from worldloom.core.kernels.random import fold_seed
from worldloom.learn.actions.noise_kernels import advance_noise, draw_normals
from worldloom.learn.device.warp_launch import launch


class NoiseSource:
    """Standard normal numbers. Each draw is keyed by (seed, row, tick, stream), as in the sampler.

    Args:
        device: Device of the tensors.
        seed: Seed of the draws, 0 up to 2**64 - 1.
        first_row: Global index of row 0 among all processes.
        stream: Separates sources with the same seed.
    """

    def __init__(self, device: torch.device, seed: int, first_row: int = 0, stream: int = 0) -> None:
        folded = int(fold_seed(np.array([seed], np.uint64))[0])
        self.device = device
        self._key = torch.tensor([0, folded, first_row, stream], dtype=torch.int64, device=device)

    @property
    def tick(self) -> Tensor:
        """Number of draws, int64 [1] on the device. Save it, and restore it with ``copy_``."""
        return self._key[:1]

    def advance(self, count: int = 1) -> None:
        """Add ``count`` to the tick, so that the next draws are new."""
        self.tick.add_(count)

    def draw(self, rows: int, width: int) -> Tensor:
        """New standard normal numbers, float32 [rows, width]."""
        numbers = torch.empty(rows, width, device=self.device)
        launch(draw_normals, (rows, -(-width // 4)), (self._key, 0, numbers), self.device)
        self.advance()
        return numbers


class CorrelatedNoise(NoiseSource):
    """Exploration noise of variance 1 that is correlated over the steps of an episode.

    An autoregressive process, n' = c n + sqrt(1 - c^2) e with standard normal e: the Ornstein-Uhlenbeck process at
    equal time steps. With the correlation c = 0 the noise is independent; near 1 it keeps its direction for about
    1 / (1 - c) steps. The noise at one step is standard normal for every c.

    Args:
        rows: Number of agents, N.
        width: Numbers of an action, K.
        correlation: Correlation c between two steps, 0 to below 1.
        device: Device of the tensors.
        seed, first_row, stream: As for :class:`NoiseSource`.

    Attributes:
        noise: The current noise, float32 [N, K].
    """

    def __init__(
        self,
        rows: int,
        width: int,
        correlation: float,
        device: torch.device,
        seed: int,
        first_row: int = 0,
        stream: int = 0,
    ) -> None:
        super().__init__(device, seed, first_row, stream)
        self.correlation, self._scale = correlation, math.sqrt(1.0 - correlation**2)
        self.noise = torch.zeros(rows, width, device=device)

    def step(self, continues: Tensor, offset: int = 0) -> Tensor:
        """The noise of the next step, float32 [N, K], in place.

        Args:
            continues: Whether a row's noise depends on that of its last step, bool [N].
            offset: Added to the tick: the step within an iteration, which :meth:`advance` counts as a whole.
        """
        rows, width = self.noise.shape
        arguments = (self._key, offset, self.correlation, self._scale, continues, self.noise)
        launch(advance_noise, (rows, -(-width // 4)), arguments, self.device)
        return self.noise


def to_uniform(noise: Tensor) -> Tensor:
    """Standard normal numbers of any shape -> uniform ones between -1 and 1, by the distribution function."""
    return torch.erf(noise * math.sqrt(0.5))
