"""The accuracy of rigid bodies: scenes with a known outcome, the settings, what mechanics says and what is measured.

python benchmarks/physics_scenarios.py                  # all scenarios: a table for each group
python benchmarks/physics_scenarios.py --only dzhani    # those whose names contain a word
python benchmarks/physics_scenarios.py --write          # and write them into docs/physics_accuracy.md

Expected values are closed forms, float64 solutions of the equations of motion, or MuJoCo's. Rows without a tolerance
show what the default settings do where others are needed.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tyro
from physics_lab import impacts, loads, mechanisms, rotation, sliding, stacks
from physics_lab.scenario import Outcome, Scenario, run
from run import describe_machine, make_console, show

from worldloom.core.base.device import resolve

PAGE = Path(__file__).parents[1] / "docs" / "physics_accuracy.md"
BEGIN, END = "<!-- begin of the tables -->\n", "<!-- end of the tables -->\n"
MODULES = (sliding, stacks, loads, impacts, rotation, mechanisms)
HEADS = {
    "name": "scene, measured value",
    "settings": "settings",
    "expected": "expected",
    "measured": "measured",
    "tolerance": "tolerance",
    "source": "expected from",
    "verdict": "",
}


@dataclass
class Settings:
    """Measure the accuracy of rigid bodies."""

    device: str = "cpu"
    """cpu, cuda:0 or python."""
    only: str = ""
    """A word of the names of the scenarios to run."""
    write: bool = False
    """Whether to write the tables into docs/physics_accuracy.md."""
    json: bool = False
    """Whether to print JSON instead of tables."""
    out: Path | None = None
    """A file for the figures as JSON."""


def all_scenarios() -> list[Scenario]:
    """Every scenario, by group."""
    return [scenario for module in MODULES for scenario in module.scenarios()]


def amount(value: float, unit: str = "") -> str:
    """A number with four digits and its unit; lengths below 0.2 m in mm."""
    if unit == "m" and 0.0 < abs(value) < 0.2:
        value, unit = 1000.0 * value, "mm"
    if abs(value) < 1e-9:
        value = 0.0
    return f"{value:.4g} {unit}".strip()


def table_row(outcome: Outcome) -> dict[str, str]:
    """The cells of a row by the names of HEADS."""
    scenario = outcome.scenario
    bounded = math.isfinite(scenario.tolerance)
    return {
        "name": scenario.name,
        "settings": scenario.settings_text,
        "expected": amount(scenario.expected, scenario.unit),
        "measured": amount(outcome.measured, scenario.unit),
        "tolerance": amount(scenario.tolerance, scenario.unit) if bounded else "",
        "source": scenario.source,
        "verdict": ("within" if outcome.within else "OUTSIDE") if bounded else "",
    }


def groups_of(outcomes: Sequence[Outcome]) -> dict[str, list[dict[str, str]]]:
    """The rows of each group."""
    groups: dict[str, list[dict[str, str]]] = {}
    for outcome in outcomes:
        groups.setdefault(outcome.scenario.group, []).append(table_row(outcome))
    return groups


def markdown(outcomes: Sequence[Outcome], machine: dict[str, Any]) -> str:
    """The tables as Markdown."""
    heads = [name for name in HEADS if name != "verdict"]
    text = f"Measured {machine['date']} at commit {machine['commit']} on {machine['hardware']}.\n"
    for group, rows in groups_of(outcomes).items():
        text += f"\n### {group}\n\n| {' | '.join(HEADS[name] for name in heads)} |\n|{'---|' * len(heads)}\n"
        text += "".join(f"| {' | '.join(row[name] for name in heads)} |\n" for row in rows)
    return text


def write_page(outcomes: Sequence[Outcome], machine: dict[str, Any]) -> None:
    """Replace the tables of the page."""
    before, rest = PAGE.read_text().split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n{markdown(outcomes, machine)}\n{END}{after}")


def main(settings: Settings) -> list[Outcome]:
    """Run the scenarios, print and write what was measured."""
    chosen = [scenario for scenario in all_scenarios() if settings.only.lower() in scenario.name.lower()]
    if not chosen:
        raise SystemExit(f"no scenario has {settings.only!r} in its name")
    if settings.write and len(chosen) < len(all_scenarios()):
        raise SystemExit("the page holds all scenarios: leave --only out to write it")
    outcomes = run(chosen, settings.device)
    machine = describe_machine(resolve("cpu" if settings.device == "python" else settings.device)[0])
    report = {
        "machine": machine,
        "device": settings.device,
        "rows": [{"group": o.scenario.group, **table_row(o), "faults": o.faults} for o in outcomes],
    }
    text = json.dumps(report, indent=1, ensure_ascii=False)
    if settings.json:
        print(text)
    else:
        console = make_console()
        for group, rows in groups_of(outcomes).items():
            show(console, group, rows, HEADS)
        outside = [o.scenario.name for o in outcomes if math.isfinite(o.scenario.tolerance) and not o.within]
        console.print(f"{len(outcomes)} rows, outside of the tolerance: {', '.join(outside) or 'none'}")
    if settings.out is not None:
        settings.out.write_text(text)
    if settings.write:
        write_page(outcomes, machine)
    return outcomes


if __name__ == "__main__":
    main(tyro.cli(Settings))
