"""The search for settings: the candidates, their order, and the criterion for a gain. The caller measures them."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from worldloom.core.runtime.variants import KernelConfig

BLOCKS = (32, 64, 128, 256, 512)
LIMITS = (24, 32, 40, 48, 64, 80, 96, 128)
MIN_GAIN = 0.01
"""A relative gain below this value is treated as noise."""

Samples = dict[str, dict[KernelConfig, list[float]]]
"""Measured seconds per launch, by kernel and setting."""

Measure = Callable[[Mapping[str, Sequence[KernelConfig]]], Samples]
"""Measures kernels, by name, with each of their settings in rotation. Settings that cannot run are left out."""


@dataclass(frozen=True)
class Choice:
    """The setting chosen for a kernel, with the median seconds of a launch before and after."""

    setting: KernelConfig
    before: float
    after: float

    @property
    def gain(self) -> float:
        return 1.0 - self.after / self.before if self.before else 0.0


def search(
    names: Sequence[str],
    default: KernelConfig,
    measure: Measure,
    count_registers: Callable[[str, int], int],
    blocks: Sequence[int] = BLOCKS,
    limits: Sequence[int] = LIMITS,
) -> dict[str, Choice]:
    """Try block sizes without a register limit, then register limits with the best block size.

    Args:
        names: The kernels.
        default: Their current setting.
        measure: Measures settings.
        count_registers: The number of registers of a kernel with a block size and without a limit.
        blocks, limits: The candidates.
    """
    samples = measure({name: list(dict.fromkeys([default, *map(KernelConfig, blocks)])) for name in names})
    best = {name: _fastest(times) for name, times in samples.items()}
    candidates = {}
    for name, setting in best.items():
        fewer = [KernelConfig(setting.block, limit) for limit in limits if limit < count_registers(name, setting.block)]
        candidates[name] = list(dict.fromkeys([default, setting, *fewer]))
    return {name: choose(default, times) for name, times in measure(candidates).items()}


def choose(default: KernelConfig, times: Mapping[KernelConfig, Sequence[float]]) -> Choice:
    """The fastest setting, or the default where the gain does not exceed the spread of the measurements."""
    medians = {setting: statistics.median(samples) for setting, samples in times.items()}
    best = _fastest(times)
    before = medians[default]
    noise = max(MIN_GAIN, _relative_iqr(times[default]), _relative_iqr(times[best]))
    if before - medians[best] <= noise * before:
        return Choice(default, before, before)
    return Choice(best, before, medians[best])


def _fastest(times: Mapping[KernelConfig, Sequence[float]]) -> KernelConfig:
    return min(times, key=lambda setting: statistics.median(times[setting]))


def _relative_iqr(samples: Sequence[float]) -> float:
    """The interquartile range of the samples, relative to the median."""
    if len(samples) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(samples, n=4)
    return (high - low) / middle if middle else 0.0
