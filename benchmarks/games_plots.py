"""Tables in Markdown and pictures of the figures of overcooked.py, hanabi.py and games_training.py.

python benchmarks/games_plots.py overcooked_rates.json hanabi.json overcooked_training.json --folder docs/images

Each JSON file, written with ``--out``, gives a table and a picture of its own name, as PNG and SVG.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from plots import Labels, curves, log_log

STEPS = "world steps/s"


@dataclass
class Settings:
    """Draw figures, and print them as tables."""

    files: tyro.conf.Positional[tuple[Path, ...]]
    """Files that a benchmark wrote."""
    folder: Path = Path("plots")
    """Where the pictures go."""


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """A table with the columns of the rows; lists are left out."""
    names = [name for name, value in rows[0].items() if not isinstance(value, list)]
    lines = ["| " + " | ".join(name.replace("_", " ") for name in names) + " |"]
    lines.append("|" + "---:|" * len(names))
    lines += ["| " + " | ".join(_cell(row[name]) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2e}" if abs(value) >= 1e6 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def grouped(rows: Sequence[Mapping[str, Any]], name: str, x: str, y: str) -> dict[str, list[tuple[float, float]]]:
    """Points (x, y) by the value of a column, which may be a format of several."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        lines.setdefault(name.format(**row), []).append((row[x], row[y]))
    return lines


def draw(document: Mapping[str, Any], file: Path) -> list[Path]:
    """The picture of a document; none for a comparison."""
    rows, hardware = document["rows"], document["machine"]["hardware"]
    match document["what"]:
        case "rates":
            lines = grouped(rows, "{layout}, {players} players", "worlds", "world_steps")
            return log_log(file, Labels(f"Overcooked, {hardware}", "worlds", STEPS), lines)
        case "players":
            lines = grouped(rows, "{worlds} worlds", "players", "microseconds")
            return log_log(file, Labels(f"Overcooked, 15 x 17 cells, {hardware}", "players", "µs per step"), lines)
        case "hanabi":
            lines = grouped(rows, "{id}", "worlds", "steps_per_second")
            return log_log(file, Labels(f"Hanabi, {hardware}", "worlds", STEPS), lines)
        case "training":
            points = {f"{row['id']}, seed {row['seed']}": [(s, score) for s, _, score in row["curve"]] for row in rows}
            return curves(file, Labels(f"training, {hardware}", "seconds", "mean score"), points, document["goal"])
    return []


def main(settings: Settings) -> None:
    for source in settings.files:
        document = json.loads(source.read_text())
        print(f"{source.stem}, {document['machine']}\n\n{markdown(document['rows'])}\n")
        for made in draw(document, settings.folder / source.stem):
            print(f"wrote {made}")


if __name__ == "__main__":
    main(tyro.cli(Settings))
