"""A trial of a custom module before a training starts, so that its mistakes are reported at once."""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from worldloom.learn.networks.network_inputs import network_inputs
from worldloom.learn.networks.policy import Policy
from worldloom.learn.networks.q_network import QNetwork

ROWS, STEPS = 3, 2
"""Size of the trial: agents, and steps of a sequence."""


@torch.no_grad()
def try_module(policy: Policy | QNetwork, module: nn.Module, observations: Mapping[str, Tensor]) -> None:
    """Call every method of a custom ``module`` once, on a copy; InputError where its results do not fit.

    Neither the module nor the random numbers of PyTorch change.

    Args:
        policy: The policy around the module.
        module: The module.
        observations: Observations [N, *shape] by name, of which the first rows are used.
    """
    try:
        trial = copy.deepcopy(policy).eval()  # as in a rollout
    except (TypeError, RuntimeError):  # a module that cannot be copied is checked by the training itself
        return
    rows = {name: values[:ROWS].clone() for name, values in observations.items()}
    count, device = len(next(iter(rows.values()))), next(iter(rows.values())).device
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        if isinstance(trial, QNetwork):
            trial(rows)
            return
        state = trial.initial_state(count, device)
        trial(rows, state)
        if hasattr(module, "act"):
            actor = network_inputs(policy.spec.observations, policy.config).actor
            trial.act({name: rows[name] for name in actor}, state)
        if trial.recurrent:
            steps = {name: values.expand(STEPS, *values.shape) for name, values in rows.items()}
            trial.sequence(steps, state, torch.zeros((STEPS, count), dtype=torch.bool, device=device))
