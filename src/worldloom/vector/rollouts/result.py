"""The tensors of a rollout."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


@dataclass
class RolloutResult:
    """The steps of a rollout: T = ``num_steps`` steps of N worlds.

    Observations and actions are tensors, or dicts of tensors for a world with several components, as in ``env.step``.

    Attributes:
        observations: What the policy observed before each step, [T, N, ...].
        actions: What it returned, [T, N, ...].
        rewards: Rewards of the steps, [T, N], the sum over the agents of a world; with ``agent_rewards`` those of the
            agents, [T, N, ...].
        terminations: Whether the step terminated an episode, bool [T, N].
        truncations: Whether the step truncated an episode, bool [T, N].
        last_observations: The observations after the last step, [N, ...].
        final_observations: With same-step autoreset, the last observations of episodes, [T, N, ...]; valid only where a
            step terminated or truncated an episode. None with next-step autoreset, and where they are not kept.
        extras: Further outputs of the policy by name, [T, ...].
    """

    observations: Any
    actions: Any
    rewards: Any
    terminations: Tensor
    truncations: Tensor
    last_observations: Any
    final_observations: Any
    extras: dict[str, Tensor]

    def clone(self) -> RolloutResult:
        """A copy that later rollouts do not overwrite."""
        return self.map(lambda tensor: tensor.clone())

    def map(self, function: Callable[[Tensor], Tensor]) -> RolloutResult:
        """The result with ``function`` applied to every tensor."""
        return RolloutResult(*(map_tensors(function, getattr(self, field.name)) for field in fields(self)))


def map_tensors(function: Callable[..., Any], *trees: Any) -> Any:
    """``function`` applied to the tensors of equally nested dicts and tuples; None stays None."""
    first = trees[0]
    if first is None:
        return None
    if isinstance(first, dict):
        return {key: map_tensors(function, *(tree[key] for tree in trees)) for key in first}
    if isinstance(first, tuple):
        return tuple(map_tensors(function, *parts) for parts in zip(*trees, strict=True))
    return function(*trees)


def list_tensors(tree: Any) -> list[Tensor]:
    """The tensors of nested dicts and tuples, in order."""
    tensors: list[Tensor] = []
    map_tensors(tensors.append, tree)
    return tensors
