"""Shapes and types of a policy's observations and action."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch

from worldloom.core.base.errors import InputError
from worldloom.core.model.observation_layout import ChannelOrder

BYTE_MAX = 255.0
"""Bound of bytes whose space declares none."""


@dataclass(frozen=True)
class ObservationSpec:
    """One component of an observation.

    Attributes:
        shape: Shape of one agent's value.
        dtype: Element type.
        choices: For discrete observations, the number of choices of each element, flattened; empty for others.
        high: Upper bound of bytes, one for all or one for each; networks divide bytes by it.
        channels: Channel axis of an image: (height, width, channels) for ``last``, (channels, height, width) for
            ``first``.
        entities: Whether it is a set: the first axis counts entities.
        mask: Name of the observation, shape (entities,), that is not 0 for the entities present; empty for all.
        critic: Whether only the critic gets it.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype = torch.float32
    choices: tuple[int, ...] = ()
    high: float | tuple[float, ...] = BYTE_MAX
    channels: ChannelOrder = "last"
    entities: bool = False
    mask: str = ""
    critic: bool = False

    @property
    def is_image(self) -> bool:
        """Whether it is an image: three dimensions, of any type."""
        return len(self.shape) == 3 and not self.choices and not self.entities

    @property
    def features(self) -> int:
        """Network inputs: one per element, or one per choice."""
        return sum(self.choices) if self.choices else math.prod(self.shape)

    @property
    def entity(self) -> ObservationSpec:
        """One entity of a set."""
        count = self.shape[0]
        high = self.high[: len(self.high) // count] if isinstance(self.high, tuple) else self.high
        return ObservationSpec(self.shape[1:], self.dtype, self.choices[: len(self.choices) // count], high)


@dataclass(frozen=True)
class ActionSpec:
    """An action: one or several choices (``categorical``), real numbers (``gaussian``), or both (``mixed``).

    A policy's action holds the indices of all choices, then all numbers. The outputs of its network are the logits of
    all choices, part after part, then a mean per number, then with ``state_std`` a log standard deviation per number.

    Attributes:
        kind: Its distribution.
        sizes: Number of choices of each categorical part.
        low, high: Bounds of each number; infinite for none.
        squashed: Whether numbers are Gaussian samples u mapped to the range between their bounds by tanh(u). Both
            bounds must be finite.
        state_std: Whether the network outputs the log standard deviation of each number.
    """

    kind: Literal["categorical", "gaussian", "mixed"]
    sizes: tuple[int, ...] = ()
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    squashed: bool = False
    state_std: bool = False

    def __post_init__(self) -> None:
        if len(self.low) != len(self.high) or (bool(self.sizes), bool(self.low)) != _PARTS[self.kind]:
            needed = [
                text
                for text, part in zip(("sizes", "as many lower as upper bounds"), _PARTS[self.kind], strict=True)
                if part
            ]
            raise InputError(f"a {self.kind} action needs {' and '.join(needed)}, one for each part, and nothing else")
        if self.squashed and not all(map(math.isfinite, self.low + self.high)):
            raise InputError(
                "squashed numbers need two finite bounds each: give the Box a low and a high, or do not squash"
            )

    @property
    def logits(self) -> int:
        """Choices of all categorical parts, each with one logit."""
        return sum(self.sizes)

    @property
    def numbers(self) -> int:
        """Real numbers of one action."""
        return len(self.low)

    @property
    def width(self) -> int:
        """Elements of one action."""
        return len(self.sizes) + len(self.low)

    @property
    def parameters(self) -> int:
        """Network outputs: a logit per choice, a mean per number, with ``state_std`` a log standard deviation too."""
        return self.logits + self.numbers * (2 if self.state_std else 1)

    @property
    def dtype(self) -> torch.dtype:
        """Type of a stored action. float32 also holds the indices of a mixed action, exactly up to 2**24."""
        return torch.int32 if self.kind == "categorical" else torch.float32


_PARTS = {"categorical": (True, False), "gaussian": (False, True), "mixed": (True, True)}
"""Whether each kind of action has choices and numbers."""


@dataclass(frozen=True)
class PolicySpec:
    """The observations of a policy by name, and its action."""

    observations: dict[str, ObservationSpec]
    action: ActionSpec
