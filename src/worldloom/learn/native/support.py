"""Which networks are trained with native kernels, and why others are not."""

from __future__ import annotations

import torch

from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.native.dense_network import (
    DenseNetwork,
    UnsupportedNetworkError,
    describe_policy,
    describe_q_network,
)
from worldloom.learn.native.dense_pass import CHOICES, NUMBERS
from worldloom.learn.networks.policy import Policy
from worldloom.learn.networks.q_network import QNetwork


def supported_network(policy: Policy | QNetwork, config: TrainConfig, device: torch.device) -> DenseNetwork:
    """The layers of a network that has native kernels.

    Raises:
        UnsupportedNetworkError: For other networks, settings and devices, with the reason.
    """
    if not config.native:
        raise UnsupportedNetworkError("native is off")
    if device.type != "cpu":
        raise UnsupportedNetworkError(f"the device is {device.type}")
    if config.precision != "fp32":
        raise UnsupportedNetworkError(f"the precision is {config.precision}")
    if config.compile:
        raise UnsupportedNetworkError("compile is on")
    network = describe_policy(policy) if isinstance(policy, Policy) else describe_q_network(policy)
    for column in network.columns:
        dtype = torch.uint8 if column.spec.dtype == torch.bool else column.spec.dtype
        if dtype not in (CHOICES if column.spec.choices else NUMBERS):
            raise UnsupportedNetworkError(f"observation '{column.name}' has the type {column.spec.dtype}")
    handled = {id(parameter) for parameter in network.parameters()}
    others = [name for name, p in policy.named_parameters() if id(p) not in handled and name != "log_std"]
    if others:
        raise UnsupportedNetworkError(f"it has a parameter {others[0]}")
    if not all(parameter.requires_grad for parameter in policy.parameters()):
        raise UnsupportedNetworkError("some of its parameters are frozen")
    return network


def unsupported_reason(policy: Policy | QNetwork, config: TrainConfig, device: torch.device) -> str:
    """Why a network is trained with PyTorch's operations; empty where it is trained with native kernels."""
    try:
        supported_network(policy, config, device)
    except UnsupportedNetworkError as reason:
        return str(reason)
    return ""
