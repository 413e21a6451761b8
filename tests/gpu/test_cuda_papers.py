"""Experiments of papers on a GPU, with small sizes: trainings that continue, tests in ale-py, and both devices."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks" / "papers"))
import cule_table3
import envpool_figure7
import madrona_figure3
import warpdrive_figure10
import warpdrive_rates

DEVICE = "cuda:0"


def rows_of(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text())["rows"]
    return found


def test_cule_is_tested_in_ale_and_continues(tmp_path: Path) -> None:
    pytest.importorskip("ale_py")
    small: dict[str, Any] = {
        **{"device": DEVICE, "games": ("Pong-v5",), "consoles": (40,), "batching": ("20/20/1",), "episodes": 2},
        **{"every": 4000, "game_steps": 20, "out": tmp_path / "cule.json"},
    }
    cule_table3.main(cule_table3.Settings(**small, frames=4000))
    cule_table3.main(cule_table3.Settings(**small, frames=8000))
    (row,) = rows_of(tmp_path / "cule.json").values()
    assert [test["frames"] for test in row["tests"]] == [4000, 8000] and row["updates"] == 200


def test_ppo_of_envpool_with_a_network_on_the_gpu(tmp_path: Path) -> None:
    pytest.importorskip("ale_py")
    settings = envpool_figure7.Settings(
        **{"engines": ("worldloom", "worldloom-gpu"), "games": ("Pong-v5",), "device": DEVICE},
        **{"num_steps": 4, "total_steps": 64, "out": tmp_path / "figure7.json"},
    )
    envpool_figure7.main(settings)
    assert [row["steps"] for row in rows_of(tmp_path / "figure7.json").values()] == [64, 64]


def test_worlds_on_both_devices(tmp_path: Path) -> None:
    small: dict[str, Any] = {"devices": ("cpu", DEVICE), "worlds": ("CartPole-v1", "Hanabi-v0"), "sizes": (4, 64)}
    madrona_figure3.main(
        madrona_figure3.Settings(**small, seconds=0.05, warm_up=5, out=tmp_path / "figure3.json", plot=tmp_path)
    )
    rows = rows_of(tmp_path / "figure3.json").values()
    assert len(rows) == 8 and all(row["rate"] > 0.0 for row in rows)


def test_tag_on_both_devices(tmp_path: Path) -> None:
    small: dict[str, Any] = {"num_envs": 4, "num_steps": 8, "episode_length": 8, "total_steps": 96}
    warpdrive_figure10.main(
        warpdrive_figure10.Settings(devices=("cpu", DEVICE), **small, out=tmp_path / "figure10.json", plot=tmp_path)
    )
    assert {row["device"] for row in rows_of(tmp_path / "figure10.json").values()} == {"cpu", DEVICE}
    rates: dict[str, Any] = {"cases": ("grid-5",), "worlds": (16,), "num_steps": 4, "iterations": 1}
    warpdrive_rates.main(warpdrive_rates.Settings(DEVICE, **rates, out=tmp_path / "rates.json"))
    (row,) = rows_of(tmp_path / "rates.json").values()
    assert len(row["rates"]) == 5
