"""A scenario: scenes, settings, what is measured in them, and the value that mechanics says it has."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from physics_lab.world import BodySpec, Motion, Scene, simulate
from worldloom import physics

G = 9.8  # m/s²
DEFAULT_DT = 1.0 / 30.0
WEIGHTLESS = {"gravity": (0.0, 0.0, 0.0)}
Measure = Callable[[list[Motion]], float]


@dataclass(frozen=True)
class Scenario:
    """One row of the table.

    Attributes:
        group: heading in the table.
        name: what happens.
        scenes: worlds that run side by side; a threshold takes several.
        seconds: simulated time.
        measure: the measured value, from what happened in the scenes.
        expected: the value that it should have.
        tolerance: largest accepted difference, in the same unit; infinite for rows that only show a value.
        unit: of these three.
        source: where the expected value is from.
        settings: configuration of the physics that differs from the defaults.
    """

    group: str
    name: str
    scenes: Sequence[Scene]
    seconds: float
    measure: Measure
    expected: float
    tolerance: float
    unit: str
    source: str
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def steps(self) -> int:
        """Steps of the simulation."""
        return round(self.seconds / float(self.settings.get("dt", DEFAULT_DT)))

    @property
    def settings_text(self) -> str:
        """The settings in words; gravity is part of the scene."""
        shown = {name: value for name, value in self.settings.items() if name != "gravity"}
        return ", ".join(f"{name} {number_text(name, value)}" for name, value in shown.items()) or "defaults"


@dataclass(frozen=True)
class Outcome:
    """A scenario and what was measured."""

    scenario: Scenario
    measured: float
    faults: tuple[str, ...] = ()

    @property
    def within(self) -> bool:
        """Whether the measured value is within the tolerance, without a fault."""
        return not self.faults and abs(self.measured - self.scenario.expected) <= self.scenario.tolerance


def number_text(name: str, value: float) -> str:
    """A setting as it is written in the table: time steps as fractions."""
    return f"1/{round(1.0 / value)} s" if name == "dt" else f"{value:g}"


def run(scenarios: Sequence[Scenario], device: str = "cpu") -> list[Outcome]:
    """Run scenarios. Those with the same number of steps are worlds of one batch; equal worlds run once."""
    outcomes: dict[int, Outcome] = {}
    order = sorted(range(len(scenarios)), key=lambda i: scenarios[i].steps)
    for steps, numbers in itertools.groupby(order, key=lambda i: scenarios[i].steps):
        members = list(numbers)
        worlds = {
            _world_key(scenarios[i], scene): (scene, dict(scenarios[i].settings))
            for i in members
            for scene in scenarios[i].scenes
        }
        scenes, configs = zip(*worlds.values(), strict=True)
        motions = dict(zip(worlds, simulate(scenes, configs, steps, device), strict=True))
        for i in members:
            own = [motions[_world_key(scenarios[i], scene)] for scene in scenarios[i].scenes]
            faults = tuple(fault for motion in own for fault in motion.faults)
            outcomes[i] = Outcome(scenarios[i], float(scenarios[i].measure(own)), faults)
    return [outcomes[i] for i in range(len(scenarios))]


def _world_key(scenario: Scenario, scene: Scene) -> tuple[Any, ...]:
    return id(scene), *sorted(scenario.settings.items())


def floor(friction: float = 0.5, restitution: float = 0.0) -> BodySpec:
    """The plane z = 0."""
    return BodySpec(physics.PLANE, motion=physics.STATIC, friction=friction, restitution=restitution)


def threshold(values: Sequence[float], happens: Callable[[Motion], bool]) -> Measure:
    """A measure over scenes with increasing values: the middle between the last without and the first with an event.

    NaN where it happens in none or in all of them, or not in order.
    """

    def measure(motions: list[Motion]) -> float:
        events = [happens(motion) for motion in motions]
        first = events.index(True) if any(events) else 0
        if first == 0 or not all(events[first:]):
            return math.nan
        return 0.5 * (values[first - 1] + values[first])

    return measure


def integrate(
    rates: Callable[[np.ndarray], np.ndarray], start: Sequence[float], seconds: float, h: float
) -> np.ndarray:
    """States of an ordinary differential equation, by the method of Runge and Kutta in float64, (steps + 1, n)."""
    y = np.asarray(start, np.float64)
    states = [y]
    for _ in range(round(seconds / h)):
        k1 = rates(y)
        k2 = rates(y + 0.5 * h * k1)
        k3 = rates(y + 0.5 * h * k2)
        k4 = rates(y + h * k3)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        states.append(y)
    return np.array(states)
