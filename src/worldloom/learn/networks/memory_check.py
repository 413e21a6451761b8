"""Memory that a training will need, estimated from its settings and compared with what is free, before any of it is taken.

The estimates are lower bounds: they hold back settings that cannot work, and nothing that might.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import pairwise

import torch
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.runtime import memory
from worldloom.learn.agents.specs import ObservationSpec, PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.networks.encoder import resolve_network

FLOAT = 4
"""Bytes of a float32."""
TRAINING_COPIES = 4
"""Numbers that a parameter in training takes: itself, its gradient, and Adam's two means."""


def require_memory(what: str, needed: int, device: torch.device, fix: str) -> None:
    """InputError where ``needed`` bytes are more than ``device`` has available; ``fix`` says which settings to change."""
    free = available(device)
    if free is not None and needed > free:
        where = "of memory" if device.type == "cpu" else f"of memory on {device}"
        raise InputError(f"{what} would need {needed:,} bytes {where}, and {free:,} are available: {fix}")


def available(device: torch.device) -> int | None:
    """Bytes that can still be taken on ``device``; None where that is not known."""
    if device.type == "cuda":
        return int(
            torch.cuda.mem_get_info(device)[0]
            + torch.cuda.memory_reserved(device)
            - torch.cuda.memory_allocated(device)
        )
    return memory.bytes_available(wp.get_device("cpu"))


def require_network(
    name: str, spec: PolicySpec, config: PolicyConfig, device: torch.device, copies: int, critic: bool
) -> None:
    """InputError where ``copies`` of the parameters of a policy's network do not fit into memory; with ``critic`` it is an actor and a critic."""
    count = parameters(spec.observations, config)
    if critic and resolve_network(spec.observations, config) == "mlp" and not config.shared and config.memory == "none":
        count *= 2  # each has layers of its own
    what = f"the network of policy '{name}' with {count:,} parameters or more"
    require_memory(what, count * FLOAT * copies, device, "make hidden or memory_size smaller")


def parameters(observations: Mapping[str, ObservationSpec], config: PolicyConfig) -> int:
    """Parameters of the layers whose width is a setting; those of convolutions follow from the image and are not counted."""
    kind = resolve_network(observations, config)
    inputs = sum(spec.features for spec in observations.values()) if kind == "mlp" else 1
    layers = (inputs, *config.hidden) if kind in ("mlp", "two_branch") else (1, 1)
    count = sum((before + 1) * units for before, units in pairwise(layers))
    if config.memory != "none":
        gates = 4 if config.memory == "lstm" else 3
        count += gates * config.memory_size * (layers[-1] + config.memory_size)
    return count


def step_bytes(spec: PolicySpec, state_size: int = 0, stack: int = 1) -> int:
    """Bytes that one step of one agent takes in a roll-out or in a replay, which keeps one of the ``stack`` frames of an image."""
    seen = 0
    for part in spec.observations.values():
        frames = stack if part.is_image and part.shape[0] == stack else 1
        seen += math.prod(part.shape) * int(part.dtype.itemsize) // frames
    acted = spec.action.width * int(spec.action.dtype.itemsize)
    return seen + acted + FLOAT * (1 + state_size)
