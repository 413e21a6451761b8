"""Networks that solve what a plain one does not: returns at equal steps, over several seeds.

python benchmarks/networks.py
python benchmarks/networks.py --device cuda:0 --seeds 5 --out networks.json

The worlds and settings are those of ``examples/attention_policy.py`` and ``examples/asymmetric_critic.py``. Returns are
of 10; a random policy gets 2.5 and 1.25.
"""

from __future__ import annotations

import json
import runpy
import statistics
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import tyro
from rich.console import Console
from run import describe_machine, show

from worldloom.core.base.device import resolve

EXAMPLES = Path(__file__).parents[1] / "examples"
CASES = {
    "attention": ("attention_policy", "ATTENTION", 40_000),
    "asymmetric": ("asymmetric_critic", "ASYMMETRIC", 30_000),
}
"""The example of each case, the name of its policy there, and steps."""


@dataclass
class Settings:
    """Compare networks with a plain one."""

    device: str = "cpu"
    """Where to train: cpu, cuda:0, or auto."""
    seeds: int = 3
    """Trainings of each network."""
    cases: tuple[str, ...] = tuple(CASES)
    """What to compare: attention, asymmetric."""
    steps: int = 0
    """Environment steps of each training; 0 for those of the case."""
    out: Path | None = None
    """A file for the figures as JSON."""


@dataclass
class Comparison:
    """Median returns, with the lowest and highest of the seeds."""

    case: str
    steps: int
    network: float
    network_range: str
    plain: float
    plain_range: str


def returns(example: dict[str, Any], policy: str, steps: int, settings: Settings) -> list[float]:
    """The final return of every seed."""
    found = []
    for seed in range(settings.seeds):
        trainer = example["train"](example[policy], steps, seed, settings.device)
        found.append(float(trainer if isinstance(trainer, float) else trainer.score))
    return found


def compare(case: str, settings: Settings) -> Comparison:
    """Train both networks of a case."""
    file, policy, own_steps = CASES[case]
    example, steps = runpy.run_path(str(EXAMPLES / f"{file}.py")), settings.steps or own_steps
    ours, plain = (returns(example, name, steps, settings) for name in (policy, "PLAIN"))
    return Comparison(case, steps, statistics.median(ours), _range(ours), statistics.median(plain), _range(plain))


def _range(values: list[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}"


def main(settings: Settings) -> None:
    rows = [asdict(compare(case, settings)) for case in settings.cases]
    machine = describe_machine(resolve(settings.device)[0])
    show(Console(), f"returns of 10, {settings.seeds} seeds, {machine['hardware']}", rows)
    if settings.out is not None:
        settings.out.write_text(json.dumps({"machine": machine, "rows": rows}, indent=2) + "\n")


if __name__ == "__main__":
    main(tyro.cli(Settings))
