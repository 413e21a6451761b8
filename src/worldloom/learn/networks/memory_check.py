"""Memory that a training needs, estimated from its settings and compared with the free memory before allocation.

The estimates are lower bounds: only settings that cannot work are refused.
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
from worldloom.learn.networks.actor_critic import has_separate_trunks
from worldloom.learn.networks.encoder import resolve_network
from worldloom.learn.networks.entities.attention import FEED_FORWARD
from worldloom.learn.networks.network_inputs import network_inputs

FLOAT = 4
"""Bytes of a float32."""
TRAINING_COPIES = 4
"""Copies of each parameter in training: itself, its gradient, and Adam's two moments."""


def require_memory(what: str, needed: int, device: torch.device, fix: str) -> None:
    """InputError where ``needed`` bytes exceed the free memory of ``device``; ``fix`` names the settings to change."""
    free = available_memory(device)
    if free is not None and needed > free:
        where = "of memory" if device.type == "cpu" else f"of memory on {device}"
        raise InputError(f"{what} would need {needed:,} bytes {where}, and {free:,} are available: {fix}")


def available_memory(device: torch.device) -> int | None:
    """Free memory of ``device`` in bytes; None where it is unknown."""
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
    """InputError where ``copies`` of a network's parameters do not fit into memory; ``critic`` for an actor-critic."""
    inputs = network_inputs(spec.observations, config)
    count = count_parameters(inputs.actor, config)
    if critic and has_separate_trunks(spec, config):
        count += count_parameters(inputs.critic, config)
    what = f"the network of policy '{name}' with {count:,} parameters or more"
    require_memory(what, count * FLOAT * copies, device, "make hidden, memory_size or attention_size smaller")


def count_parameters(observations: Mapping[str, ObservationSpec], config: PolicyConfig) -> int:
    """Parameters of the layers whose width is a setting. Convolutions are not counted."""
    kind = resolve_network(observations, config)
    inputs = sum(spec.features for spec in observations.values()) if kind == "mlp" else 1
    layers = (inputs, *config.hidden) if kind in ("mlp", "two_branch", "attention") else (1, 1)
    count = sum((before + 1) * units for before, units in pairwise(layers))
    if kind == "attention":
        count += config.attention_layers * (4 + 2 * FEED_FORWARD) * config.attention_size**2
    if config.memory != "none":
        gates = 4 if config.memory == "lstm" else 3
        count += gates * config.memory_size * (layers[-1] + config.memory_size)
    return count


def step_bytes(spec: PolicySpec, state_size: int = 0, stack: int = 1) -> int:
    """Bytes of one step of one agent in a rollout, or in a replay buffer that stores one of ``stack`` frames."""
    observed = 0
    for part in spec.observations.values():
        frames = stack if part.is_image and part.shape[0] == stack else 1
        observed += math.prod(part.shape) * int(part.dtype.itemsize) // frames
    acted = spec.action.width * int(spec.action.dtype.itemsize)
    return observed + acted + FLOAT * (1 + state_size)
