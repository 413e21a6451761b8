"""A training whose numbers are no numbers any more is ended, before it is saved over one that was good."""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch

from worldloom.core.base.errors import WorldloomError
from worldloom.learn.training.callbacks import Callback
from worldloom.learn.training.progress import Progress
from worldloom.learn.training.trainer import Trainer

CHECKED_METRICS = ("loss/", "update/kl", "update/gradient_norm")
"""Metrics that are finite as long as the training is well."""


class DivergedError(WorldloomError):
    """Losses or parameters that are not finite."""

    def __init__(self, iteration: int, what: str) -> None:
        super().__init__(
            f"{what} is not finite in iteration {iteration}: train with a smaller learning_rate, or normalise observations; "
            "the checkpoints from before are kept"
        )


class DivergenceCheck(Callback):
    """Raises DivergedError once a loss is NaN or infinite. As long as there has been none, NaN may mean that, and the parameters are looked at."""

    def __init__(self) -> None:
        self._known: set[str] = set()

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        watched = {name: value for name, value in progress.metrics.items() if name.startswith(CHECKED_METRICS)}
        for name, value in watched.items():
            if math.isinf(value) or (math.isnan(value) and name in self._known):
                raise DivergedError(progress.iteration, name)
        if any(math.isnan(value) for value in watched.values()):
            check_parameters(trainer.tensors(), progress.iteration)
        self._known |= {name for name, value in watched.items() if math.isfinite(value)}


def check_parameters(tensors: Mapping[str, torch.Tensor], iteration: int) -> None:
    """DivergedError where a policy's parameter or statistic among ``tensors`` is not finite. It waits for the device."""
    for name, tensor in tensors.items():
        if "/policy/" in name and tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise DivergedError(iteration, f"'{name.replace('/policy/', ': ')}'")
