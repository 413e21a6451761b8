"""Epsilon-greedy exploration: one kernel from Q values to the world's action.

The schedule of epsilon is :meth:`worldloom.learn.config.dqn_config.DQNConfig.epsilon`.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from worldloom.core.kernels.random import fold_seed
from worldloom.learn.actions.epsilon_greedy_kernels import choose_epsilon_greedy
from worldloom.learn.device.warp_launch import launch


class EpsilonGreedy:
    """Chooses actions for ``rows`` agents. Each draw is keyed by (seed, row, tick, stream), as in the sampler.

    Args:
        rows: Number of agents, N.
        device: Device of the tensors.
        seed: Seed of the draws, 0 up to 2**64 - 1.
        first_row: Global index of row 0 among all processes.
        stream: Separates policies with the same seed.

    Attributes:
        epsilon: Probability of a random choice, float32 [1] on the device; may be written.
    """

    def __init__(self, rows: int, device: torch.device, seed: int, first_row: int = 0, stream: int = 0) -> None:
        self.rows, self.device = rows, device
        folded = int(fold_seed(np.array([seed], np.uint64))[0])
        self._key = torch.tensor([0, folded, first_row, stream], dtype=torch.int64, device=device)
        self.epsilon = torch.ones(1, device=device)

    @property
    def tick(self) -> Tensor:
        """Number of draws, int64 [1] on the device."""
        return self._key[:1]

    def advance(self, count: int) -> None:
        """Add ``count`` to the tick, so that the next draws are new."""
        self.tick.add_(count)

    def choose(
        self,
        values: Tensor,
        action: Tensor,
        mask: Tensor | None = None,
        world_action: Tensor | None = None,
        offset: int = 0,
    ) -> None:
        """Write one choice per row.

        Args:
            values: Q values, float32 [N, choices].
            action: Written: the choices, int32 [N, 1].
            mask: Allowed choices, bool [N, choices]; None where all are.
            world_action: Written where given: the same for the world's own column.
            offset: Added to the tick: the step within an iteration, which :meth:`advance` counts as a whole.
        """
        launch(
            choose_epsilon_greedy,
            self.rows,
            (values, mask, self.epsilon, self._key, offset, action, world_action),
            self.device,
        )
