"""Policies that nobody learned: constant ones, the best of which learned policies are compared with, and what was decided then."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.model.spaces import Discrete
from worldloom.core.registry.registry import Definition
from worldloom.core.simulation import Simulation
from worldloom.envs.covid.data import LEVELS, Parameters
from worldloom.envs.covid.economy import Mode
from worldloom.envs.covid.history import EpisodeHistory
from worldloom.envs.covid.recording import BatchTotals, EpisodeRecording

KEEP_FIRST_LEVEL = 0
"""As a level: every state stays as strict as it was on the first day."""


@dataclass(frozen=True)
class ConstantPolicy:
    """A constant policy and what came of it.

    Attributes:
        level: Stringency, 1 to 10; 0 where every state kept the level of its first day.
        subsidy: 0 to the greatest level of the economy, 20 in the published one.
        totals: As ``EpisodeHistory.totals``.
    """

    level: int
    subsidy: int
    totals: dict[str, float]

    @property
    def label(self) -> str:
        return policy_label(self.level, self.subsidy)


def policy_label(level: int, subsidy: int) -> str:
    """A constant policy in words."""
    return f"{'levels kept' if level == KEEP_FIRST_LEVEL else f'level {level}'}, subsidy {subsidy}"


def sweep_constant(
    definition: Definition, parameters: Parameters, device: str = "cpu", on_day: Callable[[int], None] | None = None
) -> list[ConstantPolicy]:
    """An episode of every constant policy, all in one batch: 11 levels (with that of the first day kept) times all subsidies, 21 in the published economy.

    Args:
        definition: The economy.
        parameters: What it was made of.
        device: Where the worlds run.
        tell: Called with the number of days done.

    Returns:
        The policies, the planner's welfare highest first.
    """
    level, subsidy = (
        axis.reshape(-1)
        for axis in np.meshgrid(np.arange(LEVELS + 1), np.arange(_max_subsidy_level(definition) + 1), indexing="ij")
    )
    with Simulation(definition, len(level), device, seed=0, autoreset="disabled", config=_MODEL_MODE) as worlds:
        tally = BatchTotals(worlds, parameters)
        _set_constant_actions(worlds, level, subsidy)
        for day in range(definition.max_steps):
            worlds.step()
            tally.record_day()
            if on_day is not None:
                on_day(day + 1)
        found = [
            ConstantPolicy(int(a), int(b), totals) for a, b, totals in zip(level, subsidy, tally.totals(), strict=True)
        ]
    return sorted(found, key=lambda policy: -policy.totals["planner_welfare"])


def play_constant(
    definition: Definition,
    parameters: Parameters,
    level: int,
    subsidy: int,
    device: str = "cpu",
    on_day: Callable[[int], None] | None = None,
) -> EpisodeHistory:
    """The history of one constant policy; the arguments are those of :func:`sweep_constant`, and a level and a subsidy as in :class:`ConstantPolicy`."""
    for name, given, highest in (("level", level, LEVELS), ("subsidy", subsidy, _max_subsidy_level(definition))):
        if not 0 <= given <= highest:
            raise InputError(f"a constant {name} lies between 0 and {highest}, not at {given}")
    with Simulation(definition, 1, device, seed=0, autoreset="disabled", config=_MODEL_MODE) as worlds:
        _set_constant_actions(worlds, np.array([level]), np.array([subsidy]))
        return _record_episode(worlds, parameters, policy_label(level, subsidy), on_day)


def play_decided(
    definition: Definition, parameters: Parameters, device: str = "cpu", on_day: Callable[[int], None] | None = None
) -> EpisodeHistory:
    """What was decided then, as far as it is known, and what the fitted models make of it; the arguments are those of :func:`sweep_constant`."""
    with Simulation(
        definition, 1, device, seed=0, autoreset="disabled", config={"mode": int(Mode.REAL_POLICIES)}
    ) as worlds:
        return _record_episode(worlds, parameters, "decided then", on_day)


_MODEL_MODE = {"mode": int(Mode.MODEL)}
"""Policies count where they decide, whatever an economy plays by default."""


def _max_subsidy_level(definition: Definition) -> int:
    space = definition.actions()["Planner.subsidy"][1].space
    assert isinstance(space, Discrete)
    return space.n - 1


def _record_episode(
    worlds: Simulation, parameters: Parameters, label: str, on_day: Callable[[int], None] | None
) -> EpisodeHistory:
    """An episode of world 0 with the actions that lie in its columns."""
    recording = EpisodeRecording(worlds, parameters)
    for day in range(worlds.definition.max_steps):
        worlds.step()
        recording.record_day()
        if on_day is not None:
            on_day(day + 1)
        if worlds.terminated.numpy()[0] or worlds.truncated.numpy()[0]:
            break
    return recording.history(label)


def _set_constant_actions(worlds: Simulation, level: np.ndarray, subsidy: np.ndarray) -> None:
    """Lay the actions of all days into the columns, from which every step takes them; a level and a subsidy per world.

    A governor that asks for the level it has, or may not change it, keeps it.
    """
    governors = worlds["Governor"]["stringency"]
    governors.assign(np.repeat(level[:, None], governors.shape[1], axis=1))
    worlds["Planner"]["subsidy"].assign(subsidy[:, None])
