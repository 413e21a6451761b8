"""Recurrent cells, whose state is reset at the start of an episode."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from worldloom.learn.networks.layers import orthogonal


class RecurrentCell(nn.Module):
    """An LSTM or a GRU cell of ``size`` units, whose state is one tensor.

    Attributes:
        features: Size of the output, H.
        state_size: Size of the state, S: H for a GRU; 2 H for an LSTM, its output and its cell concatenated.
    """

    def __init__(self, kind: Literal["lstm", "gru"], inputs: int, size: int) -> None:
        super().__init__()
        cell: nn.Module = (nn.LSTMCell if kind == "lstm" else nn.GRUCell)(inputs, size)
        self.cell = orthogonal(cell, gain=1.0)
        self.features = size
        self.state_size = 2 * size if kind == "lstm" else size

    def forward(self, features: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """One step: features [B, F] and state [B, S] -> output [B, H] and the next state [B, S]."""
        # A state accumulates many small changes, which bfloat16 would round away.
        with torch.autocast(features.device.type, enabled=False):
            return self._step(features.float(), state)

    def scan(self, features: Tensor, state: Tensor, resets: Tensor) -> tuple[Tensor, Tensor]:
        """Many steps: features [T, B, F], state [B, S] -> outputs [T, B, H] and the last state [B, S].

        ``resets`` [T, B] is True at the first step of an episode: the state is zeroed before it.
        """
        outputs = []
        with torch.autocast(features.device.type, enabled=False):
            keep = (~resets).to(state.dtype).unsqueeze(-1)
            for step, mask in zip(features.float().unbind(), keep.unbind(), strict=True):
                output, state = self._step(step, state * mask)
                outputs.append(output)
        return torch.stack(outputs), state

    def _step(self, features: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        if self.state_size == self.features:
            output = self.cell(features, state)
            return output, output
        output, cell = self.cell(features, state.chunk(2, dim=1))
        return output, torch.cat((output, cell), dim=1)
