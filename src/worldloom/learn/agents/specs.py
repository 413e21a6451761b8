"""Shapes and types of a policy's observations and action."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch

from worldloom.core.base.errors import InputError


@dataclass(frozen=True)
class ObservationSpec:
    """One component of an observation.

    Attributes:
        shape: Shape of one agent's value.
        dtype: Element type.
        choices: For discrete observations, the number of choices of each element, flattened; empty for others.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    choices: tuple[int, ...] = ()

    @property
    def is_image(self) -> bool:
        """Whether it is an image: three dimensions, of any type."""
        return len(self.shape) == 3 and not self.choices

    @property
    def features(self) -> int:
        """Network inputs: one per element, or one per choice."""
        return sum(self.choices) if self.choices else math.prod(self.shape)


@dataclass(frozen=True)
class ActionSpec:
    """An action: one or several choices (``categorical``), or real numbers (``gaussian``).

    Attributes:
        kind: Its distribution.
        sizes: Number of choices of each part of a categorical action.
        low, high: Bounds of each number of a gaussian action; infinite for none.
    """

    kind: Literal["categorical", "gaussian"]
    sizes: tuple[int, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        parts = self.sizes if self.kind == "categorical" else self.low
        if not parts or len(self.low) != len(self.high):
            raise InputError(
                f"a {self.kind} action needs "
                f"{'sizes' if self.kind == 'categorical' else 'as many lower as upper bounds'}, one for each part"
            )

    @property
    def width(self) -> int:
        """Elements of one action."""
        return len(self.sizes) if self.kind == "categorical" else len(self.low)

    @property
    def parameters(self) -> int:
        """Network outputs: a logit per choice, or a mean per number."""
        return sum(self.sizes) if self.kind == "categorical" else len(self.low)

    @property
    def dtype(self) -> torch.dtype:
        return torch.int32 if self.kind == "categorical" else torch.float32


@dataclass(frozen=True)
class PolicySpec:
    """The observations of a policy by name, and its action."""

    observations: dict[str, ObservationSpec]
    action: ActionSpec
