"""Policies for tests of rollouts on all devices, and the plain loop over ``env.step`` that a rollout must equal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

import worldloom as wl
from worldloom.vector.rollouts.result import list_tensors, map_tensors


class Actor(nn.Module):
    """Samples one of two actions, and returns its log-probability and the value of the observation."""

    def __init__(self) -> None:
        super().__init__()
        self.network = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 3))

    def forward(self, observations: torch.Tensor) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
        logits, value = self.network(observations).split([2, 1], 1)
        actions = (torch.rand_like(logits).log().neg().log().neg() + logits).argmax(1)
        log_probs = logits.log_softmax(1).gather(1, actions[:, None]).squeeze(1)
        return actions, {"log_prob": log_probs, "value": value.squeeze(1)}


def make_actor(device: str, seed: int = 0) -> Actor:
    torch.manual_seed(seed)
    return Actor().to(device)


def fly_at_random(observations: dict[str, Any]) -> dict[str, torch.Tensor]:
    """A policy for the meadow with two bees of two actions, which depend on every observation."""
    sight, mood = observations["sight"], observations["mood"]
    turn = (mood + torch.randint_like(mood, 3)) % 3
    noise = torch.rand_like(sight[..., :2]) + observations["rain"].sum(1)[:, None, None]
    return {
        "turn": turn,
        "thrust": torch.sin(noise + observations["light"][:, None, :] * observations["signals"][:, None, :2]),
    }


def play_legally(observations: dict[str, torch.Tensor]) -> torch.Tensor:
    """A policy for Hanabi: a random legal move."""
    mask = observations["action_mask"]
    return (torch.rand_like(mask, dtype=torch.float32) * mask).argmax(-1)


def hit_below_17(observations: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """A policy for Blackjack."""
    return (observations[0] < 17).long()


def stepped(env: Any, policy: Callable[[Any], Any], num_steps: int) -> wl.RolloutResult:
    """A rollout by ``env.step`` of a new environment with tensors."""
    observations, _ = env.reset()
    steps = []
    with torch.no_grad():
        for _ in range(num_steps):
            outputs = policy(observations)
            actions, extras = outputs if isinstance(outputs, tuple) else (outputs, {})
            following, rewards, terminations, truncations, infos = env.step(actions)
            step = (observations, actions, rewards, terminations, truncations, infos.get("final_obs"), extras)
            steps.append(map_tensors(torch.clone, step))
            observations = following
    stacked = map_tensors(lambda *values: torch.stack(values), *steps)
    *until_finals, finals, extras = stacked
    return wl.RolloutResult(*until_finals, observations, finals, extras)


def assert_same(actual: wl.RolloutResult, expected: wl.RolloutResult) -> None:
    """Both rollouts have the same bits, and final observations where episodes ended."""
    for name in vars(expected):
        ours, theirs = list_tensors(getattr(actual, name)), list_tensors(getattr(expected, name))
        assert len(ours) == len(theirs), name
        ended = expected.terminations | expected.truncations
        for one, other in zip(ours, theirs, strict=True):
            assert one.dtype == other.dtype and one.shape == other.shape, (name, one.dtype, one.shape, other.shape)
            assert torch.equal(one[ended], other[ended]) if name == "final_observations" else torch.equal(one, other), (
                name
            )
