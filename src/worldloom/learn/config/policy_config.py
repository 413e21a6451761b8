"""Settings of a policy's network. A field's docstring is its help on the command line."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from worldloom.core.base.errors import InputError
from worldloom.learn.config.json_files import short_repr
from worldloom.learn.config.validation import check_fields

Network = Literal["auto", "mlp", "nature", "impala", "grid", "two_branch", "attention"]
Activation = Literal["tanh", "relu", "elu", "selu"]
MemoryKind = Literal["none", "lstm", "gru"]
ActionDistribution = Literal["gaussian", "squashed_gaussian"]
ActionStd = Literal["constant", "state"]
Trunks = Literal["auto", "shared", "separate"]
InputRules = Literal["declared", "0.1"]

MAX_LAYERS = 1000
MIN_LOG_STD, MAX_LOG_STD = -10.0, 4.0
"""Bounds of a log standard deviation that the network outputs: standard deviations of 4.5e-5 to 55."""


@dataclass(frozen=True)
class PolicyConfig:
    """Architecture and initialization of a policy's network."""

    network: Network = "auto"
    """Encoder of the observations. mlp: fully connected, images flattened. nature: Nature DQN CNN for one image.
    impala: IMPALA residual CNN for one image. grid: 3 x 3 convolutions without pooling for one small grid. two_branch:
    separate branches for images or maps and for the rest. attention: self-attention over sets of entities. auto:
    attention for sets, mlp for vectors, two_branch for an image and others, and for one image nature, impala below
    36 x 36 or grid below 16 x 16 pixels."""

    hidden: tuple[int, ...] = (64, 64)
    """Units of each layer of an mlp, of the vector branch of a two_branch network and of the layers after attention."""

    activation: Activation = "tanh"
    """Activation function of the fully connected layers; convolutions always use relu."""

    shared: bool = False
    """Whether actor and critic of an mlp share all layers except the last. Others share them; see trunks."""

    memory: MemoryKind = "none"
    """Recurrent cell between the encoder and the output layers: none, lstm or gru."""

    memory_size: int = 128
    """Hidden units of the recurrent cell."""

    initial_std: float = 1.0
    """Initial standard deviation of continuous actions: in units of half the range for bounded actions, in the action's
    own units for others."""

    dueling: bool = False
    """Dueling Q network: separate streams for the state value and the action advantages."""

    normalize_observations: bool = False
    """Normalize continuous observations to mean 0 and variance 1 by running statistics."""

    normalize_images: bool = False
    """The same for every pixel of images of bytes, which are otherwise divided by their upper bound."""

    action_distribution: ActionDistribution = "gaussian"
    """Distribution of continuous actions. gaussian: clipped to the bounds. squashed_gaussian: tanh of a Gaussian,
    scaled to the bounds; these must be finite."""

    action_std: ActionStd = "constant"
    """Standard deviation of continuous actions. constant: a learned parameter, the same in all states. state: an output
    of the network, from exp(-10) to exp(4)."""

    trunks: Trunks = "auto"
    """Layers of actor and critic before the output layers, for any network: shared or separate. auto: as the setting
    shared for an mlp; shared for other networks; separate where the critic has observations of its own."""

    layer_norm: bool = False
    """Layer normalization before the activation of fully connected layers and after convolutions."""

    attention_size: int = 64
    """Units of each token of an attention network; a multiple of attention_heads."""

    attention_heads: int = 4
    """Attention heads of an attention network."""

    attention_layers: int = 1
    """Self-attention layers of an attention network."""

    asymmetric: bool = True
    """Asymmetric actor-critic: give the critic the observations that are declared for it. The actor never gets them."""

    input_rules: InputRules = "declared"
    """Rules for network inputs. declared: bytes are divided by the upper bound of their space, images have the
    declared channel axis, and float64 is rounded to float32. 0.1: as in version 0.1, whose runs are opened with it:
    bytes are divided by 255, the shorter of an image's first and last axis is the channel axis, auto takes impala for
    small grids, and float64 stays."""

    def __post_init__(self) -> None:
        check_fields(self)
        if (
            not isinstance(self.hidden, (tuple, list))
            or not 1 <= len(self.hidden) <= MAX_LAYERS
            or not all(_is_size(units) for units in self.hidden)
        ):
            raise InputError(
                "hidden must hold the units of one layer or more, each 1 or more, such as (64, 64), "
                f"not {short_repr(self.hidden)}"
            )
        for name in ("memory_size", "attention_size", "attention_heads", "attention_layers"):
            if not _is_size(getattr(self, name)):
                raise InputError(f"{name} must be a whole number of 1 or more, not {short_repr(getattr(self, name))}")
        if self.attention_layers > MAX_LAYERS:
            raise InputError(f"attention_layers must be at most {MAX_LAYERS}, not {self.attention_layers}")
        if self.attention_size % self.attention_heads:
            raise InputError(
                f"attention_size must be a multiple of attention_heads ({self.attention_heads}), "
                f"not {self.attention_size}"
            )
        if not self.initial_std > 0.0:
            raise InputError(f"initial_std must be greater than 0, not {self.initial_std!r}")
        if self.action_std == "state" and not MIN_LOG_STD <= math.log(self.initial_std) <= MAX_LOG_STD:
            raise InputError(
                f"initial_std must lie between {math.exp(MIN_LOG_STD):.1e} and {math.exp(MAX_LOG_STD):.0f} "
                f"where action_std is state, not be {self.initial_std!r}"
            )
        if self.shared and self.trunks == "separate":
            raise InputError("shared and trunks 'separate' contradict each other: leave one of them out")


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value < 2**31
