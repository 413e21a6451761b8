"""The loop of a rollout: policy and worlds alternate, and every step is stored, without a device synchronization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from worldloom.vector.rollouts.batched_copy import Pair, copy_each, prepare_copies
from worldloom.vector.rollouts.policy_outputs import split_outputs
from worldloom.vector.rollouts.result import list_tensors, map_tensors
from worldloom.vector.rollouts.storage import RolloutStorage
from worldloom.vector.rollouts.world_columns import WorldColumns


class RolloutSteps:
    """The steps of a rollout on fixed memory.

    Args:
        columns: The worlds.
        storage: The tensors that receive the steps.
        num_steps: Number of steps.
        batched: Whether the outputs of the policy are copied by one kernel, as in a CUDA graph.
    """

    def __init__(self, columns: WorldColumns, storage: RolloutStorage, num_steps: int, batched: bool) -> None:
        self._columns, self._storage, self._batched = columns, storage, batched
        result = storage.result
        self._observed = [map_tensors(lambda values, k=k: values[k], result.observations) for k in range(num_steps)]
        following = [*self._observed[1:], result.last_observations]
        self._copy_first = self._prepare(self._pairs(columns.observations, self._observed[0]))
        self._copies = [self._prepare(self._step_pairs(step, following[step])) for step in range(num_steps)]
        self._action_keys = list(columns.actions)

    def _prepare(self, pairs: list[Pair]) -> Callable[[], None]:
        return prepare_copies(pairs, self._columns.simulation.device, self._columns.current_stream)

    @staticmethod
    def _pairs(sources: Any, targets: Any) -> list[Pair]:
        return list(zip(list_tensors(sources), list_tensors(targets), strict=True))

    def _step_pairs(self, step: int, next_observations: Any) -> list[Pair]:
        """The columns that are stored after a step, and where."""
        columns, result = self._columns, self._storage.result
        pairs = self._pairs(columns.observations, next_observations)
        pairs += [(columns.terminations, result.terminations[step]), (columns.truncations, result.truncations[step])]
        if columns.reward_columns is not None:
            pairs += self._pairs(columns.reward_columns, map_tensors(lambda values: values[step], result.rewards))
        if result.final_observations is not None:
            finals = map_tensors(lambda values: values[step], result.final_observations)
            pairs += self._pairs(columns.final_observations, finals)
        return pairs

    def run(self, policy: Callable[[Any], Any], step_worlds: Callable[[], None]) -> None:
        """Take the steps.

        Args:
            policy: From observations [N, ...] to actions, or to actions and extras.
            step_worlds: Steps every world with the actions in the columns.
        """
        summed = self._storage.result.rewards if self._columns.reward_columns is None else None
        with torch.no_grad():
            self._copy_first()
            for step, observations in enumerate(self._observed):
                own = dict(observations) if isinstance(observations, dict) else observations  # policies may pop keys
                self._store_outputs(step, policy(own))
                step_worlds()
                self._copies[step]()
                if summed is not None:
                    summed[step].copy_(self._columns.summed_rewards())

    def _store_outputs(self, step: int, outputs: Any) -> None:
        """Copy actions into the storage and the worlds, and extras into the storage."""
        actions, extras = split_outputs(outputs, self._action_keys)
        if not self._storage.outputs:
            self._storage.allocate_outputs(actions, extras)
        stored = self._storage.outputs[step]
        stored.check(actions, extras)
        pairs = [(extra, stored.extras[name]) for name, extra in extras.items()]
        for key, action in actions.items():
            column = self._columns.actions[key]
            pairs.append((action, stored.actions[key]))
            pairs.append((action if action.shape == column.shape else action.reshape(column.shape), column))
        if self._batched:
            self._prepare(pairs)()
        else:
            copy_each(pairs)
