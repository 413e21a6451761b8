"""The search for settings, with measurements that are made up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from worldloom.core.measure.tune_search import BLOCKS, LIMITS, Choice, Samples, choose, search
from worldloom.core.runtime.variants import KernelConfig

DEFAULT = KernelConfig(128)


class Fake:
    """A GPU on which every setting takes as long as a table says, and one second otherwise."""

    def __init__(self, times: dict[tuple[str, KernelConfig], float], unfit: set[KernelConfig] = frozenset()) -> None:
        self.times, self.unfit = times, unfit
        self.asked: list[dict[str, list[KernelConfig]]] = []

    def __call__(self, candidates: Mapping[str, Sequence[KernelConfig]]) -> Samples:
        self.asked.append({name: list(settings) for name, settings in candidates.items()})
        return {
            n: {s: [self.times.get((n, s), 1.0)] * 5 for s in settings if s not in self.unfit}
            for n, settings in candidates.items()
        }


def test_each_kernel_gets_its_own_best() -> None:
    fake = Fake({("a", KernelConfig(256)): 0.8, ("a", KernelConfig(256, 40)): 0.5, ("b", KernelConfig(32)): 0.7})
    found = search(["a", "b"], DEFAULT, fake, lambda name, block: 56)
    assert found == {"a": Choice(KernelConfig(256, 40), 1.0, 0.5), "b": Choice(KernelConfig(32), 1.0, 0.7)}
    assert found["a"].gain == 0.5


def test_blocks_first_then_registers_at_the_best_block() -> None:
    fake = Fake({("a", KernelConfig(64)): 0.8})
    search(["a"], DEFAULT, fake, lambda name, block: 41)
    blocks, limits = fake.asked
    assert set(blocks["a"]) == {KernelConfig(b) for b in BLOCKS} and blocks["a"][0] == DEFAULT
    assert limits["a"] == [DEFAULT, KernelConfig(64), *(KernelConfig(64, r) for r in LIMITS if r < 41)], (
        "a limit above what is used changes nothing"
    )


def test_what_cannot_run_is_not_chosen() -> None:
    fake = Fake({("a", KernelConfig(512)): 0.1}, unfit={KernelConfig(512)})
    assert search(["a"], DEFAULT, fake, lambda name, block: 200)["a"].setting == DEFAULT


def test_gains_under_the_noise_change_nothing() -> None:
    quiet = {DEFAULT: [1.0] * 9, KernelConfig(256): [0.995] * 9}
    assert choose(DEFAULT, quiet) == Choice(DEFAULT, 1.0, 1.0), "half a percent is noise however quiet"
    noisy = {DEFAULT: [0.8, 0.9, 1.0, 1.1, 1.2], KernelConfig(256): [0.93] * 5}
    assert choose(DEFAULT, noisy).setting == DEFAULT
    calm = {DEFAULT: [0.99, 1.0, 1.0, 1.0, 1.01], KernelConfig(256): [0.93] * 5}
    assert choose(DEFAULT, calm).setting == KernelConfig(256)


def test_one_slow_moment_does_not_decide() -> None:
    found = {DEFAULT: [1.0] * 8 + [9.0], KernelConfig(64): [0.9] * 8 + [50.0]}
    assert choose(DEFAULT, found) == Choice(KernelConfig(64), 1.0, 0.9)


def test_settings_in_words() -> None:
    assert (str(KernelConfig(64)), str(KernelConfig(64, 40))) == (
        "64 threads, any registers",
        "64 threads, at most 40 registers",
    )
