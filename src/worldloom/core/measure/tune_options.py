"""Tuning of alternatives: the option with which a step is fastest."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from worldloom.core.base.errors import InputError
from worldloom.core.measure.kernel_timer import KernelTimer, PreservedState
from worldloom.core.runtime import options
from worldloom.core.schedule.entries import HostNode

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

ROUNDS = 5
STEPS = 8
"""Consecutive steps of a measurement."""


@dataclass(frozen=True)
class TunedAlternatives:
    """The tuning result of one of a world's alternatives.

    Attributes:
        name: Their name.
        option: The fastest option, which the simulation uses now.
        seconds: Time of the kernels of a step with each option.
    """

    name: str
    option: str
    seconds: dict[str, float]


def tune_options(simulation: Simulation, on_progress: Callable[[], None]) -> tuple[TunedAlternatives, ...]:
    """Measure every option of every alternatives, use the fastest ones, and store the times on disk."""
    results = []
    for name, alternatives in simulation.definition.alternatives.items():
        samples: dict[str, float] = {}
        for option in alternatives.options:
            simulation.use_options({**simulation.definition.options, name: option})
            samples[option] = _step_seconds(simulation)
            on_progress()
        fastest = min(samples, key=samples.__getitem__)
        simulation.use_options({**simulation.definition.options, name: fastest})
        try:
            options.store(simulation.definition, alternatives, simulation.device, simulation.kernels_for, samples)
        except InputError as error:
            warnings.warn(
                f"the option holds for this simulation only, since it cannot be stored: {error}", stacklevel=2
            )
        results.append(TunedAlternatives(name, fastest, samples))
    return tuple(results)


def _step_seconds(simulation: Simulation) -> float:
    """Median time of all kernels of a step, without callables."""
    assert simulation.program is not None
    entries = [entry for entry in simulation.program.step if not isinstance(entry, HostNode)]
    samples = []
    with PreservedState(simulation) as state:
        timer = KernelTimer(simulation, simulation.executor)
        for _ in range(ROUNDS + 1):
            state.restore()
            samples.append(timer.time_steps(entries, {}, STEPS))
    return statistics.median(samples[1:])
