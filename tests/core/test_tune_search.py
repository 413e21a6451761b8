"""The search for settings, with measurements that are made up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from worldloom.core.tune_search import BLOCKS, LIMITS, Choice, Samples, pick, search
from worldloom.core.variants import Setting

DEFAULT = Setting(128)


class Fake:
    """A GPU on which every setting takes as long as a table says, and one second otherwise."""

    def __init__(self, times: dict[tuple[str, Setting], float], unfit: set[Setting] = frozenset()) -> None:
        self.times, self.unfit = times, unfit
        self.asked: list[dict[str, list[Setting]]] = []

    def __call__(self, candidates: Mapping[str, Sequence[Setting]]) -> Samples:
        self.asked.append({name: list(settings) for name, settings in candidates.items()})
        return {n: {s: [self.times.get((n, s), 1.0)] * 5 for s in settings if s not in self.unfit} for n, settings in candidates.items()}


def test_each_kernel_gets_its_own_best() -> None:
    fake = Fake({("a", Setting(256)): 0.8, ("a", Setting(256, 40)): 0.5, ("b", Setting(32)): 0.7})
    found = search(["a", "b"], DEFAULT, fake, lambda name, block: 56)
    assert found == {"a": Choice(Setting(256, 40), 1.0, 0.5), "b": Choice(Setting(32), 1.0, 0.7)}
    assert found["a"].gain == 0.5


def test_blocks_first_then_registers_at_the_best_block() -> None:
    fake = Fake({("a", Setting(64)): 0.8})
    search(["a"], DEFAULT, fake, lambda name, block: 41)
    blocks, limits = fake.asked
    assert set(blocks["a"]) == {Setting(b) for b in BLOCKS} and blocks["a"][0] == DEFAULT
    assert limits["a"] == [DEFAULT, Setting(64), *(Setting(64, r) for r in LIMITS if r < 41)], "a limit above what is used changes nothing"


def test_what_cannot_run_is_not_chosen() -> None:
    fake = Fake({("a", Setting(512)): 0.1}, unfit={Setting(512)})
    assert search(["a"], DEFAULT, fake, lambda name, block: 200)["a"].setting == DEFAULT


def test_gains_under_the_noise_change_nothing() -> None:
    quiet = {DEFAULT: [1.0] * 9, Setting(256): [0.995] * 9}
    assert pick(DEFAULT, quiet) == Choice(DEFAULT, 1.0, 1.0), "half a percent is noise however quiet"
    noisy = {DEFAULT: [0.8, 0.9, 1.0, 1.1, 1.2], Setting(256): [0.93] * 5}
    assert pick(DEFAULT, noisy).setting == DEFAULT
    calm = {DEFAULT: [0.99, 1.0, 1.0, 1.0, 1.01], Setting(256): [0.93] * 5}
    assert pick(DEFAULT, calm).setting == Setting(256)


def test_one_slow_moment_does_not_decide() -> None:
    found = {DEFAULT: [1.0] * 8 + [9.0], Setting(64): [0.9] * 8 + [50.0]}
    assert pick(DEFAULT, found) == Choice(Setting(64), 1.0, 0.9)


def test_settings_in_words() -> None:
    assert (str(Setting(64)), str(Setting(64, 40))) == ("64 threads, any registers", "64 threads, at most 40 registers")
