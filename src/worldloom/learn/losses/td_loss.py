"""The loss of DQN: TD targets, TD errors and the Huber loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch.nn import functional

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
    following = {k: v for k, v in batch.next_observations.items() if k != MASK}
    mask = batch.next_observations.get(MASK)
    with torch.no_grad():
        values = target(following)
        ranking = policy(following) if double else values
        if mask is not None:
            allowed = mask | ~mask.any(dim=1, keepdim=True)  # a mask that allows nothing allows everything
            ranking = ranking.masked_fill(~allowed, -torch.inf)
        best = ranking.argmax(dim=1, keepdim=True)
        return batch.rewards + batch.discounts * values.gather(1, best).squeeze(1)


def td_errors(policy: QFunction, batch: TransitionBatch, targets: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """TD errors ``targets - Q(s, a)``, [B], and the values Q(s, a), [B]."""
    values = policy({k: v for k, v in batch.observations.items() if k != MASK})
    taken = values.gather(1, batch.actions.long()).squeeze(1)
    return targets - taken, taken


def huber(errors: torch.Tensor, delta: float) -> torch.Tensor:
    """Huber loss of each error with threshold ``delta``; half the squared error for a ``delta`` of 0."""
    if delta == 0.0:
        return 0.5 * errors.square()
    return functional.huber_loss(errors, torch.zeros_like(errors), reduction="none", delta=delta)
