"""The benchmark of Hanabi runs with few worlds, and counts the bytes of a step."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import hanabi


@pytest.mark.usefixtures("quick_compilation")
def test_rates_and_bytes():
    settings = hanabi.Settings(ids=("HanabiSmall-v0",), worlds=(4,), seconds=0.05, against_hle=False)
    (rate,) = hanabi.measure(settings)
    assert rate.steps_per_second > 0.0 and rate.times_hle is None
    assert rate.bytes > rate.written == 2 * (171 + 12 + 4)  # two players: observation, mask and reward
