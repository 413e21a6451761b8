"""Tuned settings per world and algorithm: the defaults of the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from worldloom.atari.env.family import AtariFamily
from worldloom.atari.env.training_defaults import atari_defaults
from worldloom.core.base.device import resolve
from worldloom.core.model.families import family_of
from worldloom.envs import training_defaults
from worldloom.envs.covid import training_defaults as covid_defaults
from worldloom.envs.escape_room import training_defaults as escape_room_defaults
from worldloom.envs.hanabi import training_defaults as hanabi_defaults
from worldloom.envs.hanabi.family import HanabiFamily
from worldloom.envs.hideseek import training_defaults as hideseek_defaults
from worldloom.envs.locomotion import training_defaults as locomotion_defaults
from worldloom.envs.mujoco import training_defaults as mujoco_defaults
from worldloom.envs.overcooked import training_defaults as overcooked_defaults
from worldloom.envs.overcooked.family import OvercookedFamily
from worldloom.envs.tag import training_defaults as tag_defaults
from worldloom.learn.config.train_config import TrainConfig

TUNED_SETTINGS: dict[tuple[str, str], dict[str, Any]] = {
    **training_defaults.TRAINING_DEFAULTS,
    **tag_defaults.TRAINING_DEFAULTS,
    **covid_defaults.TRAINING_DEFAULTS,
    **locomotion_defaults.TRAINING_DEFAULTS,
    **mujoco_defaults.TRAINING_DEFAULTS,
    **hanabi_defaults.TRAINING_DEFAULTS,
    **hideseek_defaults.TRAINING_DEFAULTS,
    **overcooked_defaults.TRAINING_DEFAULTS,
    **escape_room_defaults.TRAINING_DEFAULTS,
}
"""Settings that differ from the algorithm's defaults, by world and algorithm; ``policy.*`` for the network."""

GPU_SETTINGS: dict[tuple[str, str], dict[str, Any]] = {
    **training_defaults.GPU_TRAINING_DEFAULTS,
    **locomotion_defaults.GPU_TRAINING_DEFAULTS,
    **mujoco_defaults.GPU_TRAINING_DEFAULTS,
    **hanabi_defaults.GPU_TRAINING_DEFAULTS,
    **hideseek_defaults.GPU_TRAINING_DEFAULTS,
    **overcooked_defaults.GPU_TRAINING_DEFAULTS,
    **escape_room_defaults.GPU_TRAINING_DEFAULTS,
}
"""Further settings for a training on a GPU."""

POLICY_SETTINGS: dict[tuple[str, str], dict[str, dict[str, Any]]] = {**covid_defaults.POLICY_SETTINGS}
"""Further settings of single policies, by world, algorithm and policy; for one policy per kind of agent."""

SHARED_POLICIES: dict[str, dict[str, str]] = {**tag_defaults.SHARED_POLICIES}
"""Kinds that share one policy, by world, where not every kind has its own."""


def has_tuned_config(world: str, algorithm: str) -> bool:
    """Whether there are tuned settings for a world."""
    return (_tuned_id(world), algorithm) in TUNED_SETTINGS or isinstance(family_of(world), AtariFamily)


def tuned_config(world: str, algorithm: str, kind: type[TrainConfig], device: str = "auto") -> TrainConfig:
    """The tuned config of a world and algorithm; the defaults of ``kind`` where there is none.

    Args:
        world: The world's id.
        algorithm: The name of the algorithm.
        kind: Its config class.
        device: The training device: cpu, cuda:N, or auto. A GPU runs more worlds.
    """
    if isinstance(family_of(world), AtariFamily):
        return build_config(kind, atari_defaults(world, algorithm, resolve(device)[0].is_cuda))
    key = _tuned_id(world), algorithm
    values = TUNED_SETTINGS.get(key, {})
    if key in GPU_SETTINGS and resolve(device)[0].is_cuda:
        values = values | GPU_SETTINGS[key]
    return build_config(kind, values)


def _tuned_id(world: str) -> str:
    """The id under which settings are listed: that of Hanabi or Overcooked without the settings of the game."""
    return world.partition(":")[0] if isinstance(family_of(world), (HanabiFamily, OvercookedFamily)) else world


def build_config(kind: type[TrainConfig], values: Mapping[str, Any]) -> TrainConfig:
    """A config of class ``kind`` with ``values``; those of the network are named ``policy.hidden`` etc."""
    plain = {name: value for name, value in values.items() if "." not in name}
    config = kind(**plain)
    policy_values = {
        name.removeprefix("policy."): value for name, value in values.items() if name.startswith("policy.")
    }
    return replace(config, policy=replace(config.policy, **policy_values))
