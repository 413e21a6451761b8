"""The request of a training with other values of some settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.learn.config.serialization import config_from_dict, config_to_dict
from worldloom.learn.config.validation import field_types
from worldloom.learn.runs.training_request import TrainingRequest


def with_settings(request: TrainingRequest, values: Mapping[str, Any]) -> TrainingRequest:
    """``request`` with ``values`` by the names of settings; InputError where they are invalid.

    A name is that of a setting of the algorithm, ``policy.NAME`` for one of its network, or ``POLICY:NAME`` for the
    setting of one policy.
    """
    config: dict[str, Any] = config_to_dict(request.config)
    own = {policy: dict(settings) for policy, settings in request.policy_settings.items()}
    for name, value in values.items():
        policy, _, setting = name.rpartition(":")
        group, _, inner = setting.partition(".")
        if policy:
            own.setdefault(policy, {})[setting] = value
        elif inner:
            config[group] = {**config[group], inner: value}
        else:
            config[name] = value
    changed = replace(request, config=config_from_dict(type(request.config), config), policy_settings=own)
    for policy in own:
        changed.config_of(policy)
    return changed


def setting_of(request: TrainingRequest, name: str) -> Any:
    """The value of a setting in ``request``, as JSON has it."""
    policy, _, setting = name.rpartition(":")
    group, _, inner = setting.partition(".")
    values = config_to_dict(request.config_of(policy) if policy else request.config)
    value = values[group][inner] if inner else values[setting]
    return list(value) if isinstance(value, tuple) else value


def setting_type(request: TrainingRequest, name: str) -> Any:
    """The type of a setting; InputError, which lists the settings, where the algorithm has none of this name."""
    policy, _, setting = name.rpartition(":")
    if policy and policy not in (names := request.agents_by_policy()):
        raise InputError(f"there is no policy '{policy}': there are {', '.join(names)}")
    kind: Any = type(request.config)
    group, _, inner = setting.partition(".")
    hints = field_types(kind)
    if inner and dataclasses.is_dataclass(part := hints.get(group)):
        kind, setting, hints = part, inner, field_types(part)
    known = {field.name: hints[field.name] for field in dataclasses.fields(kind)}
    if setting not in known or dataclasses.is_dataclass(known[setting]):
        listed = ", ".join(key for key, hint in known.items() if not dataclasses.is_dataclass(hint))
        raise InputError(f"{request.algorithm} has no setting '{name}': there are {listed}")
    return known[setting]
