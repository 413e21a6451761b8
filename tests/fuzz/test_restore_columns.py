"""A small sample of hostile snapshots of every kind of world; ``restore_columns.py`` runs any number."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from thorough import THOROUGH, sample

import worldloom as wl

sys.path.insert(0, str(Path(__file__).parent))
import restore_columns

WORLDS = {
    "Taxi-v3": 12,
    "TagGrid-v0": 4,
    "Breakout-v5": 3,
    "CovidEconomySynthetic-v0": 4,
    "ALE/Pong-v5+ALE/Breakout-v5": 6,
}


@pytest.mark.parametrize("name", sample(WORLDS, 2))
def test_hostile_columns_are_refused_or_run(name: str) -> None:
    report = restore_columns.fuzz(wl.definition(name, **restore_columns.ATARI.get(name, {})), WORLDS[name], seed=1)
    assert report.faults == []
    assert sum(report.endings.values()) == WORLDS[name]


@pytest.mark.parametrize(
    "limit", sample([wl.UpTo(12, batch=30, overflow="drop"), wl.UpTo(12, overflow="drop")], 1), ids=str
)
def test_hostile_populations_are_refused_or_run(limit: wl.UpTo) -> None:
    report = restore_columns.fuzz(restore_columns.kitchen(limit), 10 if THOROUGH else 5, seed=1)
    assert report.faults == []
    assert report.endings["refused"] > 0 and report.endings["ran"] > 0
