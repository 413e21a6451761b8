"""Tables and pictures are made of the figures that the benchmarks of games write."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import games_plots

MACHINE = {"hardware": "a machine"}


def test_a_table_has_a_line_per_row() -> None:
    rows = [{"id": "a", "steps": 1234, "rate": 2.5e9, "reached": None, "curve": [1]}]
    assert games_plots.markdown(rows).splitlines()[::2] == [
        "| id | steps | rate | reached |",
        "| a | 1,234 | 2.50e+09 | - |",
    ]


def test_rates_are_lines_over_worlds(tmp_path: Path) -> None:
    rows = [{"layout": "ring", "players": 2, "worlds": n, "world_steps": 10.0 * n} for n in (1, 8)]
    assert games_plots.grouped(rows, "{layout}, {players}", "worlds", "world_steps") == {
        "ring, 2": [(1, 10.0), (8, 80.0)]
    }
    document = {"what": "rates", "machine": MACHINE, "rows": rows}
    files = games_plots.draw(document, tmp_path / "rates")
    assert [file.suffix for file in files] == [".png", ".svg"] and all(file.stat().st_size > 0 for file in files)


def test_trainings_are_curves_over_seconds(tmp_path: Path) -> None:
    rows = [{"id": "game", "seed": 0, "curve": [[1.0, 100, 3.0], [2.0, 200, 9.0]]}]
    files = games_plots.draw({"what": "training", "machine": MACHINE, "goal": 8.0, "rows": rows}, tmp_path / "training")
    assert all(file.exists() for file in files)
