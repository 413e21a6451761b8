"""Stops a training whose losses or parameters are not finite, before a good checkpoint is overwritten."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from worldloom.core.base.errors import WorldloomError
from worldloom.learn.training.bad_observations import find_bad_observation
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.progress import Progress

if TYPE_CHECKING:
    from worldloom.learn.training.trainer import Trainer

CHECKED_METRICS = ("loss/", "update/kl", "update/gradient_norm")
"""Metrics that are finite unless the training has diverged."""


class DivergedError(WorldloomError):
    """Losses or parameters that are not finite.

    Args:
        iteration: The iteration.
        what: The loss or parameter.
        observation: The observation that is not finite, where one was found; it is then reported as the cause.
    """

    def __init__(self, iteration: int, what: str, observation: str = "") -> None:
        if observation:
            message = (
                f"{observation}, so {what} is not finite in iteration {iteration}: correct the world; "
                "with device='python' its systems run in a debugger"
            )
        else:
            message = (
                f"{what} is not finite in iteration {iteration}: use a smaller learning_rate, or normalize observations"
            )
        super().__init__(message)

    def mention_checkpoint(self, checkpoint: Path) -> None:
        """Add to the message that ``checkpoint``, saved before, is intact."""
        self.args = (f"{self}; checkpoint {checkpoint} from before is kept",)


class DivergenceCheck(Callback):
    """Raises DivergedError once a loss is NaN or infinite; the first callback of every training.

    A metric that was never finite may be NaN because there is none yet. Parameters and observations are then checked
    instead.
    """

    def __init__(self) -> None:
        self._known: set[str] = set()

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        checked = {name: value for name, value in progress.metrics.items() if name.startswith(CHECKED_METRICS)}
        for name, value in checked.items():
            if math.isinf(value) or (math.isnan(value) and name in self._known):
                raise DivergedError(progress.iteration, name, find_bad_observation(trainer))
        missing = [name for name, value in checked.items() if math.isnan(value)]
        if missing:
            check_parameters(trainer.tensors(), progress.iteration, trainer)
            if observation := find_bad_observation(trainer):
                raise DivergedError(progress.iteration, missing[0], observation)
        self._known |= {name for name, value in checked.items() if math.isfinite(value)}


def check_parameters(tensors: Mapping[str, torch.Tensor], iteration: int, trainer: Trainer | None = None) -> None:
    """DivergedError where a parameter or statistic of a policy is not finite. Synchronizes with the device.

    The error names the observation that caused it, where ``trainer`` is given and has one.
    """
    for name, tensor in tensors.items():
        if "/policy/" in name and tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            observation = "" if trainer is None else find_bad_observation(trainer)
            raise DivergedError(iteration, f"'{name.replace('/policy/', ': ')}'", observation)
