"""Evaluation mode of custom modules: dropout is off, and batch normalization uses its running statistics."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from worldloom.learn.networks.policy import Policy
from worldloom.learn.networks.q_network import QNetwork


@contextmanager
def evaluation_mode(policy: Policy | QNetwork) -> Iterator[None]:
    """Act with a policy: a custom module is in evaluation mode until the exit, which restores the mode of every layer.

    Worldloom's own layers are the same in both modes.
    """
    if not policy.custom:
        yield
        return
    kept = [module for module in policy.network.modules() if not module.training]
    policy.network.eval()
    try:
        yield
    finally:
        policy.network.train()
        for module in kept:
            module.training = False
