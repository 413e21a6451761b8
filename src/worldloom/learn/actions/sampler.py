"""The sampler: from network outputs to actions, log-probabilities and entropies in one kernel."""

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
from worldloom.learn.actions.distributions import action_scale, split_action, split_parameters
from worldloom.learn.actions.gaussian_kernels import rule_values
from worldloom.learn.actions.sampling_kernels import (
    LANES,
    draw_choices,
    draw_choices_and_numbers,
    draw_choices_together,
    draw_numbers,
)
from worldloom.learn.agents.specs import ActionSpec
from worldloom.learn.device.warp_launch import current_stream, launch, warp_device

MANY_CHOICES = 128
"""Choices of a part from which a block of threads samples for a row on a GPU, and below which one thread does.

It must not depend on the number of rows: the two kernels round differently, and a row draws the same in any batch. One
thread samples all parts of a mixed action.
"""


class Sampler:
    """Samples actions for ``rows`` agents from a counter-based random generator.

    Each draw is keyed by (seed, row, tick, stream, part): a row draws the same numbers in a batch of any size, and
    several ranks draw what a single rank would. The tick is a tensor on the device, so that a CUDA graph draws new
    numbers on every replay.
    """

    def __init__(
        self, spec: ActionSpec, rows: int, device: torch.device, seed: int, first_row: int = 0, stream: int = 0
    ) -> None:
        """Make a sampler.

        Args:
            spec: The action.
            rows: Number of agents, N.
            device: Device of the tensors.
            seed: Seed of the draws, 0 up to 2**64 - 1.
            first_row: Global index of row 0 among all ranks.
            stream: Separates samplers with the same seed and rows.
        """
        if rows < 1 or first_row < 0 or first_row + rows > 2**31:
            raise InputError(
                f"{rows} rows from {first_row} on cannot be numbered: "
                "there must be at least one, and ids are between 0 and 2**31 - 1"
            )
        if not 0 <= seed < 2**64:
            raise InputError(f"the seed {seed} is outside 0 to 2**64 - 1: use another")
        self.spec, self.rows = spec, rows
        folded = int(fold_seed(np.array([seed], np.uint64))[0])
        self._key = torch.tensor([0, folded, first_row, stream], dtype=torch.int64, device=device)
        self.device = self._key.device
        self._together = self.device.type == "cuda" and spec.kind == "categorical" and max(spec.sizes) >= MANY_CHOICES
        self._starts = torch.tensor([0, *itertools.accumulate(spec.sizes)], dtype=torch.int32, device=device)
        # Constant arguments are converted once: on the CPU this costs as much as sampling a few rows.
        self._key_argument = wp.from_torch(self._key)
        self._starts_argument = wp.from_torch(self._starts)
        self._rules = rule_values(spec)
        if spec.numbers:
            self._scale_argument = wp.from_torch(action_scale(spec, device), dtype=wp.vec4f)

    @property
    def tick(self) -> Tensor:
        """Number of draws, int64 ``[1]`` on the device. Save it, and restore it with ``copy_``."""
        return self._key[:1]

    def advance(self, count: int = 1) -> None:
        """Add ``count`` to the tick, so that the next draws are new."""
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
        world_action: Tensor | tuple[Tensor, Tensor] | None = None,
        offset: int = 0,
    ) -> None:
        """Sample an action for each row, in one launch. Outputs may be slices of a storage or a world's own column.

        A forbidden choice is never drawn. A mask that allows nothing allows everything. If all logits are NaN, the
        choice is still an allowed one, and its log-probability is NaN.

        Args:
            parameters: The network's outputs, ``[N, spec.parameters]``, of any floating type.
            action: Written: the action, ``[N, width]`` of ``spec.dtype``.
            log_prob: Written: its log-probability in nats, summed over the parts, float32 ``[N]``.
            entropy: Written: the entropy in nats, summed over the parts, float32 ``[N]``; for squashed numbers an
                estimate from the sample.
            mask: Allowed choices, bool ``[N, spec.logits]``; None where all are.
            log_std: Log standard deviation, ``[spec.numbers]`` or ``[N, spec.numbers]``; required where there are
                numbers and the network does not output it.
            world_action: Written where given: the action in the world's units, see
                :func:`~worldloom.learn.actions.distributions.to_env_action`; shape and type as ``action``. For a mixed
                action a pair: choices, int32 ``[N, parts]``, and numbers, float32 ``[N, spec.numbers]``.
            offset: Added to the tick: the step within a captured rollout, which :meth:`advance` counts as a whole.
        """
        rows, spec = self.rows, self.spec
        self._check("action", action, (rows, spec.width), spec.dtype)
        self._check("log_prob", log_prob, (rows,), torch.float32)
        self._check("entropy", entropy, (rows,), torch.float32)
        outputs = parameters.detach().float()
        self._check("parameters", outputs, (rows, spec.parameters), torch.float32)
        if mask is not None and spec.sizes:
            self._check("mask", mask, (rows, spec.logits), torch.bool)
        world_choices, world_numbers = self._world_parts(world_action)
        draws, results = (self._key_argument, offset), (log_prob, entropy)
        if spec.kind == "categorical":
            arguments = (outputs, mask, self._starts_argument, *draws, action, world_choices, *results)
            if self._together:
                _launch_blocks(draw_choices_together, rows, arguments, self.device)
            else:
                launch(draw_choices, rows, arguments, self.device)
            return
        logits, means, spread = split_parameters(spec, outputs, self._checked_log_std(log_std))
        gaussian = (means, spread.expand(rows, -1), self._scale_argument, *self._rules)
        if spec.kind == "gaussian":
            launch(draw_numbers, rows, (*gaussian, *draws, action, world_numbers, *results), self.device)
            return
        launch(
            draw_choices_and_numbers,
            rows,
            (
                *(logits, mask, self._starts_argument),
                *gaussian,
                *draws,
                *split_action(spec, action),
                *(world_choices, world_numbers),
                *results,
            ),
            self.device,
        )

    def _checked_log_std(self, log_std: Tensor | None) -> Tensor | None:
        """``log_std`` in float32; None where the network outputs it."""
        if self.spec.state_std:
            return None
        shape = (self.rows, self.spec.numbers)
        if log_std is None or log_std.shape not in (shape, shape[1:]):
            raise InputError(
                "a gaussian action needs log_std, the logarithm of its standard deviation: "
                f"pass {shape[1]} numbers, for all rows or for each"
            )
        return log_std.detach().float()

    def _world_parts(self, world_action: Tensor | tuple[Tensor, Tensor] | None) -> tuple[Tensor | None, Tensor | None]:
        """The tensors of the world's choices and numbers; None where they are not to be written."""
        spec, rows = self.spec, self.rows
        if world_action is None:
            return None, None
        if isinstance(world_action, Tensor) == (spec.kind == "mixed"):
            raise InputError("world_action is a pair of choices and numbers for a mixed action, and else one tensor")
        choices, numbers = (world_action, world_action) if isinstance(world_action, Tensor) else world_action
        if spec.sizes:
            self._check("world_action", choices, (rows, len(spec.sizes)), torch.int32)
        if spec.numbers:
            self._check("world_action", numbers, (rows, spec.numbers), torch.float32)
        return choices, numbers

    def _check(self, name: str, tensor: Tensor, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        if tensor.shape != shape or tensor.dtype != dtype or tensor.device != self.device:
            actual = f"{tensor.dtype} of shape {tuple(tensor.shape)} on {tensor.device}"
            raise InputError(
                f"{name} is {actual}, and the sampler needs {dtype} of shape {shape} on {self.device}: "
                "pass such a tensor"
            )


def _launch_blocks(kernel: wp.Kernel, rows: int, arguments: Sequence[Any], device: torch.device) -> None:
    """As :func:`launch`, with a block of threads for each row."""
    inputs = [wp.from_torch(a, return_ctype=True) if isinstance(a, Tensor) else a for a in arguments]
    wp.launch(
        kernel,
        dim=(rows, LANES),
        inputs=inputs,
        device=warp_device(device),
        stream=current_stream(device),
        block_dim=LANES,
        record_tape=False,
    )
