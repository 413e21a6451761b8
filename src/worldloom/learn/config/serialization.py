"""Configs as plain data for JSON, and back."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar

from worldloom.core.base.errors import InputError
from worldloom.learn.config.json_files import short_repr
from worldloom.learn.config.piecewise_linear import PiecewiseLinear, schedules
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.config.validation import field_types

SettingsT = TypeVar("SettingsT")
FIELDS_0_1 = (
    "num_envs", "total_steps", "seed", "device", "gamma", "learning_rate", "schedule", "max_gradient_norm",
    "clip_rewards", "episodic_life", "action_masks", "precision", "graphs", "compile", "policy",
)  # fmt: skip
"""Settings that version 0.1 wrote for every algorithm, always all of them."""

POLICY_FIELDS_0_1 = (
    "network",
    "hidden",
    "activation",
    "shared",
    "memory",
    "memory_size",
    "initial_std",
    "dueling",
    "normalize_observations",
)
"""Settings of a network that version 0.1 wrote, always all of them."""


def config_to_dict(config: TrainConfig) -> dict[str, Any]:
    """A config as plain data for JSON; schedules become lists of points [steps, value]."""
    points = {name: [list(point) for point in schedule.points] for name, schedule in schedules(config).items()}
    return {**dataclasses.asdict(config), **points}


def config_from_dict(kind: type[TrainConfig], values: Mapping[str, Any]) -> TrainConfig:
    """A config of class ``kind`` from the output of :func:`config_to_dict`; InputError for unknown names or types.

    The output of version 0.1 gets that version's ``policy.input_rules``, so that its checkpoints act as before.
    """
    return settings_from_dict(kind, _with_input_rules(_with_old_defaults(values)))


def settings_from_dict(kind: type[SettingsT], values: Mapping[str, Any]) -> SettingsT:
    """A dataclass ``kind`` of settings from plain data; InputError for unknown names or types."""
    settings: SettingsT = _build(kind, values, "")
    return settings


def _with_input_rules(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """``values`` with the input rules of version 0.1 where that version wrote them."""
    policy = values.get("policy")
    if isinstance(policy, Mapping) and set(POLICY_FIELDS_0_1) <= set(policy) and "input_rules" not in policy:
        return {**values, "policy": {**policy, "input_rules": "0.1"}}
    return values


def _with_old_defaults(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """``values``; in a whole config of version 0.1, settings that it lacks get the behaviour of that version."""
    if "native" in values or not set(FIELDS_0_1) <= set(values):
        return values
    return {**values, "native": False, **({"save_rollout": False} if "overlap" in values else {})}


def _build(kind: Any, values: Mapping[str, Any], where: str) -> Any:
    hints = field_types(kind)
    known = {f.name: hints[f.name] for f in dataclasses.fields(kind)}
    arguments: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise InputError(f"there is no setting {short_repr(where + name)}: there are {', '.join(known)}")
        hint = known[name]
        if dataclasses.is_dataclass(hint):
            if not isinstance(value, Mapping):
                raise InputError(f"setting '{where}{name}' must be an object with settings, not {short_repr(value)}")
            arguments[name] = _build(hint, value, f"{where}{name}.")
        else:
            arguments[name] = _checked(f"{where}{name}", hint, value)
    return kind(**arguments)


def _checked(name: str, hint: Any, value: Any) -> Any:
    """``value`` converted to the type of the setting; InputError where that is not possible."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple and isinstance(value, (list, tuple)) and all(isinstance(v, arguments[0]) for v in value):
        return tuple(value)
    if origin is typing.Literal and isinstance(value, str) and value in arguments:
        return value
    if origin in (typing.Union, types.UnionType) and (value is None or isinstance(value, arguments)):
        return value
    if hint is float and isinstance(value, list) and all(isinstance(point, (list, tuple)) for point in value):
        try:
            return PiecewiseLinear(*value)
        except InputError as error:
            raise InputError(f"setting '{name}' cannot be {short_repr(value)}: {error}") from None
    if hint is float and type(value) is int and abs(value) < 2**1023:
        return float(value)
    if isinstance(hint, type) and type(value) is hint:
        return value
    raise InputError(f"setting '{name}' cannot be {short_repr(value)}: give {_description(hint)}")


def _description(hint: Any) -> str:
    """The values that a setting of type ``hint`` takes."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is typing.Literal:
        return f"one of {', '.join(map(str, arguments))}"
    if origin is tuple:
        return f"{_description(arguments[0])} for every layer, such as (64, 64)"
    names = {bool: "True or False", int: "a whole number", float: "a number", str: "text"}
    return names.get(hint, f"a value of type {hint}")
