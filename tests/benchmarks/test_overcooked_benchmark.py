"""The benchmark of Overcooked measures kitchens of any number of players, and says how many bytes they move."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import overcooked

pytestmark = pytest.mark.usefixtures("quick_compilation")


def test_a_rate_has_its_bytes() -> None:
    settings = overcooked.Settings("rates", cores=1, seconds=0.1)
    rate = overcooked.measure(settings, "cramped_room", 1, 3, bandwidth=1e12)
    assert rate.observations == 5 * 4 * 21 < rate.bytes and rate.world_steps > 0
    assert rate.bandwidth == pytest.approx(rate.bytes * rate.world_steps / 1e12)
