"""Settings that suit a world: what the command line starts from, and shows as defaults, where a world and an algorithm have an entry."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from worldloom.learn.config import TrainConfig

TUNED: dict[tuple[str, str], dict[str, Any]] = {}
"""By world and algorithm: settings other than the algorithm's own; those of the network as ``policy.hidden`` and so on."""


def tuned(world: str, algorithm: str, kind: type[TrainConfig]) -> TrainConfig:
    """The settings to start from: those of ``kind``, changed as ``TUNED`` says for this world and algorithm."""
    values = TUNED.get((world, algorithm), {})
    plain = {name: value for name, value in values.items() if "." not in name}
    config = kind(**plain)
    of_policy = {name.removeprefix("policy."): value for name, value in values.items() if name.startswith("policy.")}
    return replace(config, policy=replace(config.policy, **of_policy))
