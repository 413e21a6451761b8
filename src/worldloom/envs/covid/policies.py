"""Baseline policies: constant ones, and the historical decisions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.model.spaces import Discrete
from worldloom.core.registry.definition import Definition
from worldloom.core.simulation import Simulation
from worldloom.envs.covid.data import LEVELS, Parameters
from worldloom.envs.covid.history import EpisodeHistory
from worldloom.envs.covid.recording import BatchTotals, record_episode
from worldloom.envs.covid.replay_data import Mode

KEEP_FIRST_LEVEL = 0
"""Level that means the level of the first day in every state."""


@dataclass(frozen=True)
class ConstantPolicy:
    """A constant policy and its totals.

    Attributes:
        level: Stringency, 1 to 10; 0 for the level of the first day in every state.
        subsidy: Subsidy level, 0 to the greatest of the economy, 20 in the published one.
        totals: As ``EpisodeHistory.totals``.
    """

    level: int
    subsidy: int
    totals: dict[str, float]

    @property
    def label(self) -> str:
        return policy_label(self.level, self.subsidy)


def policy_label(level: int, subsidy: int) -> str:
    """The label of a constant policy."""
    return f"{'levels kept' if level == KEEP_FIRST_LEVEL else f'level {level}'}, subsidy {subsidy}"


def sweep_constant(
    definition: Definition, parameters: Parameters, device: str = "cpu", on_day: Callable[[int], None] | None = None
) -> list[ConstantPolicy]:
    """Play one episode of every constant policy in one batch: 11 levels, 0 included, times all subsidy levels.

    Args:
        definition: The economy.
        parameters: The parameters of the economy.
        device: The device of the worlds.
        on_day: Called with the number of finished days.

    Returns:
        The policies by the planner's welfare, highest first.
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
        policies = [
            ConstantPolicy(int(a), int(b), totals) for a, b, totals in zip(level, subsidy, tally.totals(), strict=True)
        ]
    return sorted(policies, key=lambda policy: -policy.totals["planner_welfare"])


def play_constant(
    definition: Definition,
    parameters: Parameters,
    level: int,
    subsidy: int,
    device: str = "cpu",
    on_day: Callable[[int], None] | None = None,
) -> EpisodeHistory:
    """Play one constant policy, with the arguments of :func:`sweep_constant` and :class:`ConstantPolicy`."""
    for name, value, highest in (("level", level, LEVELS), ("subsidy", subsidy, _max_subsidy_level(definition))):
        if not 0 <= value <= highest:
            raise InputError(f"a constant {name} must be between 0 and {highest}, not {value}")
    with Simulation(definition, 1, device, seed=0, autoreset="disabled", config=_MODEL_MODE) as worlds:
        _set_constant_actions(worlds, np.array([level]), np.array([subsidy]))
        return _record_episode(worlds, parameters, policy_label(level, subsidy), on_day)


def play_decided(
    definition: Definition, parameters: Parameters, device: str = "cpu", on_day: Callable[[int], None] | None = None
) -> EpisodeHistory:
    """Play the historical decisions with the fitted models, with the arguments of :func:`sweep_constant`."""
    with Simulation(
        definition, 1, device, seed=0, autoreset="disabled", config={"mode": int(Mode.REAL_POLICIES)}
    ) as worlds:
        return _record_episode(worlds, parameters, "decided then", on_day)


_MODEL_MODE = {"mode": int(Mode.MODEL)}
"""Mode of constant policies, independent of the default of an economy."""


def _max_subsidy_level(definition: Definition) -> int:
    space = definition.actions()["Planner.subsidy"][1].space
    assert isinstance(space, Discrete)
    return space.n - 1


def _record_episode(
    worlds: Simulation, parameters: Parameters, label: str, on_day: Callable[[int], None] | None
) -> EpisodeHistory:
    """Record an episode of world 0 with the actions in its columns."""

    def step() -> bool:
        worlds.step()
        return bool(worlds.terminated.numpy()[0] or worlds.truncated.numpy()[0])

    return record_episode(worlds, parameters, label, step, on_day)


def _set_constant_actions(worlds: Simulation, level: np.ndarray, subsidy: np.ndarray) -> None:
    """Write the actions of all days into the action columns, which every step reads; one level and subsidy per world.

    A governor keeps its level if the action repeats it, and during the cooldown.
    """
    governors = worlds["Governor"]["stringency"]
    governors.assign(np.repeat(level[:, None], governors.shape[1], axis=1))
    worlds["Planner"]["subsidy"].assign(subsidy[:, None])
