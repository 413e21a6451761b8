"""What a policy returns: actions by component, and further tensors by name, checked once for each step."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from worldloom.core.base.errors import InputError
from worldloom.vector.checks import check_action_keys


def split_outputs(outputs: Any, action_keys: list[str]) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """Actions and extras of a policy that returned ``actions``, or ``(actions, extras)``.

    Args:
        outputs: What the policy returned.
        action_keys: The keys of the action components. Where there is one, actions may be a tensor.
    """
    if isinstance(outputs, Tensor) and len(action_keys) == 1:
        return {action_keys[0]: outputs}, {}
    actions, extras = outputs if isinstance(outputs, tuple) and len(outputs) == 2 else (outputs, {})
    if isinstance(actions, Tensor) and len(action_keys) == 1:
        actions = {action_keys[0]: actions}
    if not isinstance(actions, Mapping) or not isinstance(extras, Mapping):
        raise InputError(
            "the policy must return actions, or (actions, extras) where extras is a dict of tensors, "
            f"not {_describe(outputs)}"
        )
    check_action_keys(actions, action_keys)
    for name, value in (*actions.items(), *extras.items()):
        if not isinstance(value, Tensor):
            raise InputError(f"'{name}' of the policy must be a tensor, not {type(value).__name__}")
    return dict(actions), dict(extras)


def _describe(outputs: Any) -> str:
    if isinstance(outputs, tuple):
        return f"a tuple of {', '.join(type(part).__name__ for part in outputs)}"
    return type(outputs).__name__


def check_action(name: str, action: Tensor, column: Tensor) -> None:
    """InputError unless ``action`` fits its column, [N, ...], in shape, type and device.

    As in ``env.step``, axes of length 1 may be missing or added. Integers may have any width, and so may floats.
    """
    expected, rows = tuple(column.shape), len(column)
    if action.shape[:1] != (rows,) or action.numel() != column.numel():
        raise InputError(
            f"action '{name}' of the policy must have shape {expected}, a row for each world, not {tuple(action.shape)}"
        )
    if action.device != column.device:
        raise InputError(
            f"action '{name}' of the policy is on {action.device}, but the worlds are on {column.device}: "
            "move the policy to that device"
        )
    if not _is_castable(action.dtype, column.dtype):
        raise InputError(
            f"action '{name}' of the policy must be {column.dtype}, not {action.dtype}: convert it in the policy"
        )


def _is_castable(source: torch.dtype, target: torch.dtype) -> bool:
    """Whether actions of type ``source`` are accepted for ``target``: floats are no integers, and numbers no bools."""
    if source.is_complex:
        return False
    if target.is_floating_point:
        return True
    return not source.is_floating_point and (target != torch.bool or source == torch.bool)


def check_extra(name: str, extra: Tensor, device: torch.device) -> None:
    """InputError unless an extra output is on the device of the worlds."""
    if extra.device != device:
        raise InputError(
            f"'{name}' of the policy is on {extra.device}, but the worlds are on {device}: move it to that device"
        )
