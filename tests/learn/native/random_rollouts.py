"""Random policies and rollouts for tests of the native kernels."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import torch

from worldloom.learn.actions.distributions import log_prob_entropy, split_parameters
from worldloom.learn.agents.specs import ActionSpec, ObservationSpec, PolicySpec
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.losses.policy_loss_kernels import Weights
from worldloom.learn.native.dense_network import describe_policy
from worldloom.learn.native.policy_step import PolicyStep
from worldloom.learn.networks.policy import Policy
from worldloom.learn.rollout.storage import RolloutBatch
from worldloom.learn.training.optimizer import FlatAdam

OBSERVATIONS = {
    "bytes": ObservationSpec((3,), torch.uint8, high=(255.0, 200.0, 100.0)),
    "choices": ObservationSpec((2,), torch.int32, (3, 4)),
    "flag": ObservationSpec((), torch.bool),
    "numbers": ObservationSpec((2, 3), torch.float32),
}
CATEGORICAL = ActionSpec("categorical", sizes=(3, 2))
BOUNDS = {"low": (-1.0, -2.0, -3.0), "high": (1.0, 2.0, 3.0)}
GAUSSIAN = ActionSpec("gaussian", **BOUNDS)
SQUASHED = ActionSpec("gaussian", **BOUNDS, squashed=True, state_std=True)
MIXED = ActionSpec("mixed", sizes=(3, 2), **BOUNDS, state_std=True)


@dataclass
class Case:
    """A policy, its optimizer and a rollout of all kinds of observations."""

    policy: Policy
    optimizer: FlatAdam
    batch: RolloutBatch
    starts: torch.Tensor

    def __post_init__(self) -> None:
        self.native = PolicyStep(self.policy, describe_policy(self.policy), self.optimizer)

    def take_step(
        self, settings: Weights, indices: torch.Tensor | None = None, standardize: bool = False
    ) -> torch.Tensor:
        """One optimizer step with native kernels, with all samples or those at ``indices``. Returns its statistics."""
        indices = torch.arange(len(self.batch.returns)) if indices is None else indices
        return self.native.minibatch(self.batch, len(indices), settings, self.starts, standardize).step(indices)


def random_observations(samples: int, generator: torch.Generator) -> dict[str, torch.Tensor]:
    def integers(high: int, *shape: int) -> torch.Tensor:
        return torch.randint(0, high, (samples, *shape), generator=generator)

    return {
        "bytes": integers(256, 3).to(torch.uint8),
        "choices": torch.stack([integers(3), integers(4)], 1).to(torch.int32),
        "flag": integers(2) > 0,
        "numbers": 3.0 * torch.randn(samples, 2, 3, generator=generator),
    }


def random_case(
    action: ActionSpec, samples: int = 300, *, masked: bool = False, weighted: bool = False, **config: Any
) -> Case:
    """A policy with the settings ``config`` after a few updates of its normalizer, and a rollout near its values."""
    generator = torch.Generator().manual_seed(7)
    torch.manual_seed(3)
    policy = Policy(PolicySpec(OBSERVATIONS, action), PolicyConfig(**config))
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter += 0.1 * torch.randn(parameter.shape, generator=generator)
    optimizer = FlatAdam(policy.parameters(), 1e-3, 0.5)
    observations = random_observations(samples, generator)
    if policy.normalizer is not None:
        policy.normalizer.update(random_observations(50, generator))

    def normal(*shape: int) -> torch.Tensor:
        return torch.randn(samples, *shape, generator=generator)

    with torch.no_grad():
        parameters, _, _ = policy(observations, policy.initial_state(samples, "cpu"))
    choices = [torch.randint(0, n, (samples, 1), generator=generator) for n in action.sizes]
    numbers = normal(action.numbers)
    if action.numbers:  # likely ones: probabilities of others are sensitive to rounding
        _, means, log_std = split_parameters(action, parameters, policy.log_std)
        numbers = means + log_std.detach().clamp(-3.0, 1.0).exp() * numbers
    actions = torch.cat([*choices, numbers], 1).to(action.dtype)
    masks = None
    if masked:
        masks = torch.rand(samples, action.logits, generator=generator) < 0.6
        starts = [0, *itertools.accumulate(action.sizes)]
        for part, start in enumerate(starts[:-1]):  # the action taken was allowed
            masks[torch.arange(samples), start + actions[:, part].long()] = True
        masks[0] = False  # allows everything
    weights = (torch.rand(samples, generator=generator) < 0.8).float() if weighted else None
    log_probs, _ = log_prob_entropy(action, parameters, actions, masks, policy.log_std)
    log_probs = log_probs.detach() + 0.2 * normal()  # some ratios are clipped, others not
    batch = RolloutBatch(observations, actions, log_probs, normal(), normal(), 2.0 * normal(), masks, weights)
    starts = torch.tensor([0, *itertools.accumulate(action.sizes)], dtype=torch.int32)
    return Case(policy, optimizer, batch, starts)
