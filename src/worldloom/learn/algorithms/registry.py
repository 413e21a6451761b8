"""The algorithms by name, and their settings as plain data."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.a2c import A2C, A2CConfig
from worldloom.learn.algorithms.dqn import DQN, DQNConfig
from worldloom.learn.algorithms.ppo import PPO, PPOConfig
from worldloom.learn.algorithms.vtrace import VTrace, VTraceConfig
from worldloom.learn.config.json_files import short_repr
from worldloom.learn.config.train_config import TrainConfig
from worldloom.learn.training.trainer import Trainer

ALGORITHMS: dict[str, tuple[type[Trainer], type[TrainConfig]]] = {
    "ppo": (PPO, PPOConfig),
    "a2c": (A2C, A2CConfig),
    "vtrace": (VTrace, VTraceConfig),
    "dqn": (DQN, DQNConfig),
}
"""Trainer and settings of every algorithm."""


def algorithm(name: str) -> tuple[type[Trainer], type[TrainConfig]]:
    """The trainer and the settings of an algorithm; InputError where there is none of that name."""
    if name not in ALGORITHMS:
        raise InputError(f"there is no algorithm {short_repr(name)}: there are {', '.join(ALGORITHMS)}")
    return ALGORITHMS[name]


def config_to_dict(config: TrainConfig) -> dict[str, Any]:
    """Settings as plain data for JSON."""
    return dataclasses.asdict(config)


def config_from_dict(kind: type[TrainConfig], values: Mapping[str, Any]) -> TrainConfig:
    """Settings from what :func:`config_to_dict` gave and JSON kept; InputError for names or types that are none of theirs."""
    made: TrainConfig = _build(kind, values, "")
    return made


def _build(kind: Any, values: Mapping[str, Any], where: str) -> Any:
    hints = typing.get_type_hints(kind)
    known = {f.name: hints[f.name] for f in dataclasses.fields(kind)}
    given: dict[str, Any] = {}
    for name, value in values.items():
        if name not in known:
            raise InputError(f"there is no setting {short_repr(where + name)}: there are {', '.join(known)}")
        hint = known[name]
        if dataclasses.is_dataclass(hint):
            if not isinstance(value, Mapping):
                raise InputError(f"setting '{where}{name}' must hold settings of its own, not {short_repr(value)}")
            given[name] = _build(hint, value, f"{where}{name}.")
        else:
            given[name] = _checked(f"{where}{name}", hint, value)
    return kind(**given)


def _checked(name: str, hint: Any, value: Any) -> Any:
    """``value`` as the type that the setting has."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple and isinstance(value, (list, tuple)) and all(isinstance(v, arguments[0]) for v in value):
        return tuple(value)
    if origin is typing.Literal and isinstance(value, str) and value in arguments:
        return value
    if origin in (typing.Union, types.UnionType) and (value is None or isinstance(value, arguments)):
        return value
    if hint is float and type(value) is int and abs(value) < 2**1023:
        return float(value)
    if isinstance(hint, type) and type(value) is hint:
        return value
    raise InputError(f"setting '{name}' cannot be {short_repr(value)}")
