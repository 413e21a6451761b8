"""The search for settings: which to try, in which order, and when one counts as faster. How they are measured is somebody else's."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from worldloom.core.runtime.variants import KernelConfig

BLOCKS = (32, 64, 128, 256, 512)
LIMITS = (24, 32, 40, 48, 64, 80, 96, 128)
MIN_GAIN = 0.01
"""A gain of less than this part is taken for noise, however quiet the measurements are."""

Samples = dict[str, dict[KernelConfig, list[float]]]
"""Seconds per launch as measured, by kernel and setting."""

Measure = Callable[[Mapping[str, Sequence[KernelConfig]]], Samples]
"""Measures kernels, by name, with each of their settings by turns. What cannot run is left out."""


@dataclass(frozen=True)
class Choice:
    """The setting picked for a kernel, with the median seconds of a launch before and after."""

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
    """Block sizes first, with as many registers as the compiler likes; then fewer registers with the best block size.

    Args:
        names: The kernels.
        default: What they run with now.
        measure: How settings are measured.
        count_registers: How many registers a kernel takes with a block size where it is free to.
        blocks, limits: What to try.
    """
    first = measure({name: list(dict.fromkeys([default, *map(KernelConfig, blocks)])) for name in names})
    best = {name: _fastest(found) for name, found in first.items()}
    tried = {}
    for name, setting in best.items():
        fewer = [KernelConfig(setting.block, limit) for limit in limits if limit < count_registers(name, setting.block)]
        tried[name] = list(dict.fromkeys([default, setting, *fewer]))
    return {name: choose(default, found) for name, found in measure(tried).items()}


def choose(default: KernelConfig, found: Mapping[KernelConfig, Sequence[float]]) -> Choice:
    """The fastest setting, or the default where it is not faster by more than the measurements scatter."""
    middle = {setting: statistics.median(samples) for setting, samples in found.items()}
    best = _fastest(found)
    before = middle[default]
    noise = max(MIN_GAIN, _relative_iqr(found[default]), _relative_iqr(found[best]))
    if before - middle[best] <= noise * before:
        return Choice(default, before, before)
    return Choice(best, before, middle[best])


def _fastest(found: Mapping[KernelConfig, Sequence[float]]) -> KernelConfig:
    return min(found, key=lambda setting: statistics.median(found[setting]))


def _relative_iqr(samples: Sequence[float]) -> float:
    """How far the middle half of the samples lies apart, as a part of the median."""
    if len(samples) < 2:
        return 0.0
    low, middle, high = statistics.quantiles(samples, n=4)
    return (high - low) / middle if middle else 0.0
