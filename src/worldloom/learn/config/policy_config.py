"""Settings of a policy's network; every field is a flag of the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from worldloom.core.base.errors import InputError
from worldloom.learn.config.json_files import short_repr
from worldloom.learn.config.validation import check_fields

Network = Literal["auto", "mlp", "nature", "impala", "two_branch"]
Activation = Literal["tanh", "relu", "elu", "selu"]
MemoryKind = Literal["none", "lstm", "gru"]

MOST_LAYERS = 1000


@dataclass(frozen=True)
class PolicyConfig:
    """The network of a policy: what it is made of and how it starts."""

    network: Network = "auto"
    """What observations go through. mlp: layers of units, images flattened; nature, impala: convolutions for one image; two_branch:
    images or maps in branches of their own, joined with the rest. auto: mlp for vectors, nature for one image (impala where it is
    smaller than 36 x 36), two_branch for images beside other observations."""

    hidden: tuple[int, ...] = (64, 64)
    """Units of each layer of an mlp, and of the branch that takes the state in a two_branch network."""

    activation: Activation = "tanh"
    """What follows each layer of an mlp and the layer that joins two branches; convolutions always have relu."""

    shared: bool = False
    """Whether actor and critic share all layers but the last. Networks other than mlp, and those with a memory, always do."""

    memory: MemoryKind = "none"
    """A memory of earlier steps of the episode, between the shared layers and the last ones."""

    memory_size: int = 128
    """Units of the memory."""

    initial_std: float = 1.0
    """Standard deviation that actions of real numbers are drawn with at first: in units of half the range for actions with bounds, in
    those of the action for others."""

    dueling: bool = False
    """Whether a Q network adds up the value of the state and the advantage of each action, each from a layer of its own."""

    normalize_observations: bool = False
    """Whether observations of real numbers are brought to mean 0 and variance 1 by running statistics."""

    def __post_init__(self) -> None:
        check_fields(self)
        if (
            not isinstance(self.hidden, (tuple, list))
            or not 1 <= len(self.hidden) <= MOST_LAYERS
            or not all(_is_count(units) for units in self.hidden)
        ):
            raise InputError(
                f"hidden must hold the units of one layer or more, each of 1 or more, such as (64, 64), not {short_repr(self.hidden)}"
            )
        if not _is_count(self.memory_size):
            raise InputError(f"memory_size must be a whole number of 1 or more, not {short_repr(self.memory_size)}")
        if not self.initial_std > 0.0:
            raise InputError(f"initial_std must be greater than 0, not {self.initial_std!r}")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**31
