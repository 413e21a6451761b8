"""The memory of a rollout: the caller's tensors, and new ones for what the caller did not give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch
from torch import Tensor

from worldloom.core.base.errors import InputError
from worldloom.vector.env_layout import combine_values
from worldloom.vector.rollouts.policy_outputs import check_action, check_extra
from worldloom.vector.rollouts.result import RolloutResult, list_tensors, map_tensors
from worldloom.vector.rollouts.world_columns import WorldColumns

FIELDS = tuple(field.name for field in fields(RolloutResult))


@dataclass(frozen=True)
class StoredOutputs:
    """The tensors that receive the outputs of the policy at one step, by name."""

    actions: dict[str, Tensor]
    extras: dict[str, Tensor]

    def check(self, actions: dict[str, Tensor], extras: dict[str, Tensor]) -> None:
        """InputError where outputs differ from those of the first step in names, shapes or types."""
        if extras.keys() != self.extras.keys():
            raise InputError(
                f"the extras of the policy must be the same at every step: {sorted(self.extras)}, not {sorted(extras)}"
            )
        for stored, outputs in ((self.actions, actions), (self.extras, extras)):
            for name, value in outputs.items():
                expected = stored[name]
                if value.shape != expected.shape or value.dtype != expected.dtype or value.device != expected.device:
                    raise InputError(
                        f"'{name}' of the policy must be the same at every step: {_describe(expected)}, "
                        f"not {_describe(value)}"
                    )


class RolloutStorage:
    """The tensors that a rollout writes, T = ``num_steps``.

    Those of actions and extras are allocated at the policy's first step, which determines their shapes and types.

    Args:
        columns: The worlds.
        num_steps: Steps of a rollout.
        out: Tensors of the caller by the names of :class:`RolloutResult`; others are allocated.
        final_observations: Whether to keep final observations.

    Attributes:
        result: The tensors.
        outputs: The tensors for the policy's outputs of each step; empty before its first step.
        given: Ids of the caller's tensors.
    """

    def __init__(self, columns: WorldColumns, num_steps: int, out: Mapping[str, Any], final_observations: bool) -> None:
        if unknown := sorted(set(out) - set(FIELDS)):
            raise InputError(f"out has no tensors named '{unknown[0]}': it may have {', '.join(FIELDS)}")
        self._columns, self._steps = columns, num_steps
        self._out = map_tensors(lambda given: given, dict(out))  # the caller's dict may change
        observed, dtypes = columns.observations, columns.observation_dtypes
        finals = columns.final_observations if final_observations else None
        if finals is None and out.get("final_observations") is not None:
            raise InputError("out has final_observations, which this rollout does not keep: leave them out")
        rewards = columns.summed_rewards() if columns.reward_columns is None else columns.reward_columns
        self.result = RolloutResult(
            observations=self._tensors("observations", observed, dtypes),
            actions=None,
            rewards=self._tensors("rewards", rewards, map_tensors(lambda values: values.dtype, rewards)),
            terminations=self._tensors("terminations", columns.terminations, torch.bool),
            truncations=self._tensors("truncations", columns.truncations, torch.bool),
            last_observations=self._tensors("last_observations", observed, dtypes, per_step=False),
            final_observations=None if finals is None else self._tensors("final_observations", finals, dtypes),
            extras={},
        )
        self.outputs: list[StoredOutputs] = []
        tensors = list_tensors(dict(out))
        self.given = {id(tensor) for tensor in tensors}
        if len({tensor.data_ptr() for tensor in tensors}) < len(tensors):
            raise InputError("out has two names for the same memory: give each name a tensor of its own")

    def allocate_outputs(self, actions: dict[str, Tensor], extras: dict[str, Tensor]) -> None:
        """Check the outputs of the policy's first step, and make the tensors for all steps."""
        for key, action in actions.items():
            check_action(key, action, self._columns.actions[key])
        for name, extra in extras.items():
            check_extra(name, extra, self._columns.device)
        dtypes = [{key: value.dtype for key, value in values.items()} for values in (actions, extras)]
        stored = self._tensors("actions", combine_values(actions), combine_values(dtypes[0]))
        self.result.actions, self.result.extras = stored, self._tensors("extras", extras, dtypes[1])
        by_key = stored if isinstance(stored, dict) else {next(iter(actions)): stored}
        self.outputs = [
            StoredOutputs(
                {key: values[step] for key, values in by_key.items()},
                {name: values[step] for name, values in self.result.extras.items()},
            )
            for step in range(self._steps)
        ]

    def _tensors(self, name: str, views: Any, dtypes: Any, per_step: bool = True) -> Any:
        """The caller's tensors of a name, checked, or new ones: for views [N, ...] tensors [T, N, ...]."""
        return self._matching(name, self._out.get(name), views, dtypes, (self._steps,) if per_step else ())

    def _matching(self, name: str, given: Any, view: Any, dtype: Any, steps: tuple[int, ...]) -> Any:
        if isinstance(view, dict):
            if given is not None and (not isinstance(given, Mapping) or not given.keys() <= view.keys()):
                raise InputError(f"out.{name} must be a dict of tensors with some of the keys {', '.join(view)}")
            own = given or {}
            return {key: self._matching(f"{name}.{key}", own.get(key), view[key], dtype[key], steps) for key in view}
        if isinstance(view, tuple):
            if given is not None and (not isinstance(given, tuple) or len(given) != len(view)):
                raise InputError(f"out.{name} must be a tuple of {len(view)} tensors")
            parts = zip(given or (None,) * len(view), view, dtype, strict=True)
            return tuple(self._matching(f"{name}.{k}", *part, steps) for k, part in enumerate(parts))
        shape = (*steps, *view.shape)
        if given is None:
            with torch.inference_mode(False):  # a tensor made in inference mode cannot be trained on
                return torch.empty(shape, dtype=dtype, device=self._columns.device)
        expected = f"{dtype} {list(shape)} on {self._columns.device}"
        if not isinstance(given, Tensor):
            raise InputError(f"out.{name} must be a tensor, {expected}, not {type(given).__name__}")
        if (tuple(given.shape), given.dtype, given.device) != (shape, dtype, self._columns.device):
            raise InputError(f"out.{name} must be {expected}, not {_describe(given)}")
        if any(stride == 0 and size > 1 for stride, size in zip(given.stride(), given.shape, strict=True)):
            raise InputError(f"out.{name} is an expanded tensor, whose elements share memory: give its .contiguous()")
        return given


def _describe(tensor: Tensor) -> str:
    return f"{tensor.dtype} {list(tensor.shape)} on {tensor.device}"
