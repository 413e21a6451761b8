"""What a policy sees and does: shapes and kinds of its observations and of its action."""

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
        shape: The shape of one agent's value.
        dtype: The type of its numbers.
        choices: For observations that are choices, how many there are for each number, flattened; empty for plain numbers.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    choices: tuple[int, ...] = ()

    @property
    def is_image(self) -> bool:
        """Whether it is a picture: three dimensions, of any type."""
        return len(self.shape) == 3 and not self.choices

    @property
    def features(self) -> int:
        """How many numbers a network gets for it: one per number, or one per choice."""
        return sum(self.choices) if self.choices else math.prod(self.shape)


@dataclass(frozen=True)
class ActionSpec:
    """An action: one or several choices (``categorical``), or real numbers (``gaussian``).

    Attributes:
        kind: How it is drawn.
        sizes: How many choices each part of a categorical action has.
        low, high: Bounds of each number of a gaussian action; infinite where there are none.
    """

    kind: Literal["categorical", "gaussian"]
    sizes: tuple[int, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        parts = self.sizes if self.kind == "categorical" else self.low
        if not parts or len(self.low) != len(self.high):
            raise InputError(
                f"a {self.kind} action needs {'sizes' if self.kind == 'categorical' else 'as many lower as upper bounds'}, one for each part"
            )

    @property
    def width(self) -> int:
        """How many numbers one action has."""
        return len(self.sizes) if self.kind == "categorical" else len(self.low)

    @property
    def parameters(self) -> int:
        """How many numbers a network gives for it: a logit per choice, or a mean per number."""
        return sum(self.sizes) if self.kind == "categorical" else len(self.low)

    @property
    def dtype(self) -> torch.dtype:
        return torch.int32 if self.kind == "categorical" else torch.float32


@dataclass(frozen=True)
class PolicySpec:
    """What a policy has to fit: its observations by name, and its action."""

    observations: dict[str, ObservationSpec]
    action: ActionSpec
