"""The sampler: from a network's numbers to action, log-probability and entropy in one kernel."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import warp as wp
from torch import Tensor

from worldloom.core.base.errors import InputError
from worldloom.core.kernels.random import fold_seed
from worldloom.learn.actions.distributions import action_scale
from worldloom.learn.actions.sampling_kernels import LANES, draw_choices, draw_choices_together, draw_numbers
from worldloom.learn.agents.specs import ActionSpec
from worldloom.learn.device.warp_launch import current_stream, launch, warp_device

MANY_CHOICES = 128
"""From how many choices of a part on a block of threads draws for a row on a GPU, and below it one thread: even at some 100,000 rows.

It must not depend on the rows: the two kernels round differently, and a row draws the same in a batch of any size.
"""


class Sampler:
    """Draws actions for ``rows`` agents, the same on every call with the same key.

    Each draw is keyed by (seed, row, tick, stream, part): row k draws the same numbers in a batch of any size, and ranks that
    hold different rows of one batch draw what a single rank would. The tick is a tensor on the device, so that a recorded CUDA
    graph draws anew on every replay.
    """

    def __init__(
        self, spec: ActionSpec, rows: int, device: torch.device, seed: int, first_row: int = 0, stream: int = 0
    ) -> None:
        """Make a sampler.

        Args:
            spec: The action.
            rows: How many agents act, N.
            device: Where the tensors are.
            seed: Seed of the draws, 0 up to 2**64 - 1.
            first_row: Id of row 0 among the rows of all ranks.
            stream: Tells samplers with the same seed and rows apart.
        """
        if rows < 1 or first_row < 0 or first_row + rows > 2**31:
            raise InputError(
                f"{rows} rows from {first_row} on cannot be numbered: there must be at least one, and ids stay between 0 and 2**31 - 1"
            )
        if not 0 <= seed < 2**64:
            raise InputError(f"the seed {seed} is outside 0 to 2**64 - 1: take one within")
        self.spec, self.rows = spec, rows
        folded = int(fold_seed(np.array([seed], np.uint64))[0])
        self._key = torch.tensor([0, folded, first_row, stream], dtype=torch.int64, device=device)
        self.device = self._key.device
        self._together = self.device.type == "cuda" and max(spec.sizes, default=0) >= MANY_CHOICES
        self._starts = torch.tensor([0, *itertools.accumulate(spec.sizes)], dtype=torch.int32, device=device)
        # Tensors that stay are handed over once: on the CPU this costs as much as drawing for some rows.
        self._key_handed = wp.from_torch(self._key, return_ctype=True)
        if spec.kind == "categorical":
            self._fixed_handed = wp.from_torch(self._starts, return_ctype=True)
        else:
            self._fixed_handed = wp.from_torch(action_scale(spec, device), dtype=wp.vec4f, return_ctype=True)

    @property
    def tick(self) -> Tensor:
        """The count of draws so far, int64 ``[1]`` on the device: save it, and restore it with ``copy_``."""
        return self._key[:1]

    def advance(self, count: int = 1) -> None:
        """Count ``count`` draws on the device, so that the next ones are new."""
        self.tick.add_(count)

    def sample(
        self,
        parameters: Tensor,
        *,
        action: Tensor,
        log_prob: Tensor,
        entropy: Tensor,
        mask: Tensor | None = None,
        log_std: Tensor | None = None,
        world_action: Tensor | None = None,
        offset: int = 0,
    ) -> None:
        """Draw an action for each row, in one launch; outputs may be slices of a storage or a world's own column.

        A forbidden choice is never drawn. A row that may choose nothing may choose anything. Should a network give
        nothing but NaN, the choice is still one of the allowed, and its log-probability NaN.

        Args:
            parameters: Logits or means, ``[N, spec.parameters]``, of any floating type.
            action: Written: the action, ``[N, width]`` of ``spec.dtype``.
            log_prob: Written: its log-probability in nats, summed over the parts, float32 ``[N]``.
            entropy: Written: the entropy of its distribution in nats, summed over the parts, float32 ``[N]``.
            mask: Which choices are allowed, bool ``[N, spec.parameters]``; categorical only.
            log_std: Logarithm of the standard deviation, ``[width]`` or ``[N, width]``; gaussian only, and needed there.
            world_action: Written too, if given: what the world gets (see :func:`~worldloom.learn.actions.distributions.to_world`), like ``action``.
            offset: Added to the tick: the step within a recorded roll-out, after which :meth:`advance` counts them all.
        """
        numbers = (
            self._logits_and_mask(parameters, mask)
            if self.spec.kind == "categorical"
            else self._means_and_spread(parameters, log_std)
        )
        shape = (self.rows, self.spec.width)
        self._check("action", action, shape, self.spec.dtype)
        self._check("log_prob", log_prob, shape[:1], torch.float32)
        self._check("entropy", entropy, shape[:1], torch.float32)
        if world_action is not None:
            self._check("world_action", world_action, shape, self.spec.dtype)
        arguments = (*numbers, self._fixed_handed, self._key_handed, offset, action, world_action, log_prob, entropy)
        if self._together:
            _launch_blocks(draw_choices_together, self.rows, arguments, self.device)
        else:
            launch(draw_choices if self.spec.kind == "categorical" else draw_numbers, self.rows, arguments, self.device)

    def _logits_and_mask(self, parameters: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor | None]:
        shape = (self.rows, self.spec.parameters)
        logits = parameters.detach().float()
        self._check("parameters", logits, shape, torch.float32)
        if mask is not None:
            self._check("mask", mask, shape, torch.bool)
        return logits, mask

    def _means_and_spread(self, parameters: Tensor, log_std: Tensor | None) -> tuple[Tensor, Tensor]:
        shape = (self.rows, self.spec.width)
        if log_std is None or log_std.shape not in (shape, shape[1:]):
            raise InputError(
                f"a gaussian action needs log_std, the logarithm of its standard deviation: hand in {shape[1]} numbers, for all rows or for each"
            )
        means = parameters.detach().float()
        self._check("parameters", means, shape, torch.float32)
        return means, log_std.detach().float().expand(shape)

    def _check(self, name: str, tensor: Tensor, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        if tensor.shape != shape or tensor.dtype != dtype or tensor.device != self.device:
            found = f"{tensor.dtype} of shape {tuple(tensor.shape)} on {tensor.device}"
            raise InputError(
                f"{name} is {found}, and the sampler needs {dtype} of shape {shape} on {self.device}: hand in such a tensor"
            )


def _launch_blocks(kernel: wp.Kernel, rows: int, arguments: Sequence[Any], device: torch.device) -> None:
    """As :func:`launch`, with a block of threads for each row."""
    handed = [wp.from_torch(a, return_ctype=True) if isinstance(a, Tensor) else a for a in arguments]
    wp.launch(
        kernel,
        dim=(rows, LANES),
        inputs=handed,
        device=warp_device(device),
        stream=current_stream(device),
        block_dim=LANES,
        record_tape=False,
    )
