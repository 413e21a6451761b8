"""The loss of DQN: TD targets, TD errors and the Huber loss; for distributions of returns, their projection."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch.nn import functional

from worldloom.learn.losses.critic_outputs import ReturnDistribution
from worldloom.learn.rollout.replay_buffer import TransitionBatch

MASK = "/mask"
"""Name of the action mask among the observations in a replay buffer. No component can have this name."""


QFunction = Callable[[Mapping[str, torch.Tensor]], torch.Tensor]
"""Observations [N, *shape] by name -> Q values [N, choices]."""


def td_targets(policy: QFunction, target: QFunction, batch: TransitionBatch, double: bool) -> torch.Tensor:
    """TD targets ``r + discount * Q_target(s', a')``, [B]; without gradients.

    a' is the allowed action with the highest value, by ``policy`` where ``double``, else by ``target``.
    ``batch.discounts`` is 0 after a termination, but not after a truncation.
    """
    following = without_mask(batch.next_observations)
    with torch.no_grad():
        values = target(following)
        best = best_choices(policy(following) if double else values, batch.next_observations.get(MASK))
        return batch.rewards + batch.discounts * values.gather(1, best).squeeze(1)


def distribution_targets(
    policy: QFunction, target: QFunction, returns: ReturnDistribution, batch: TransitionBatch, double: bool
) -> torch.Tensor:
    """Distributions of ``r + discount * Z_target(s', a')``, projected onto the support, [B, atoms]; without gradients.

    Args:
        policy: The Q values of the trained network.
        target: The logits of the target network's distributions, [N, choices, atoms].
        returns: The support.
        batch: Transitions.
        double: As for :func:`td_targets`.
    """
    following = without_mask(batch.next_observations)
    with torch.no_grad():
        logits = target(following)
        ranking = policy(following) if double else returns.values(logits)
        best = best_choices(ranking, batch.next_observations.get(MASK))
        return returns.project(taken(logits, best).softmax(-1), batch.rewards, batch.discounts)


def best_choices(ranking: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """The allowed choice of the highest value in each row of ``ranking`` [B, choices], int64 [B, 1]."""
    if mask is not None:
        allowed = mask | ~mask.any(dim=1, keepdim=True)  # a mask that allows nothing allows everything
        ranking = ranking.masked_fill(~allowed, -torch.inf)
    return ranking.argmax(dim=1, keepdim=True)


def taken(outputs: torch.Tensor, choices: torch.Tensor) -> torch.Tensor:
    """The outputs [B, atoms] of ``choices`` [B, 1] among those of all, [B, choices, atoms]."""
    return outputs.gather(1, choices.long()[..., None].expand(-1, -1, outputs.shape[-1])).squeeze(1).contiguous()


def without_mask(observations: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Observations of a replay buffer without the action mask."""
    return {name: values for name, values in observations.items() if name != MASK}


def td_errors(policy: QFunction, batch: TransitionBatch, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """TD errors ``targets - Q(s, a)``, [B], and the values Q(s, a), [B]."""
    values = policy(without_mask(batch.observations)).gather(1, batch.actions.long()).squeeze(1)
    return targets - values, values


def huber(errors: torch.Tensor, delta: float) -> torch.Tensor:
    """Huber loss of each error with threshold ``delta``; half the squared error for a ``delta`` of 0."""
    if delta == 0.0:
        return 0.5 * errors.square()
    return functional.huber_loss(errors, torch.zeros_like(errors), reduction="none", delta=delta)
