"""``worldloom check``: whether a world runs the same on every device."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

import tyro

from worldloom.core.registry.world_files import find
from worldloom.core.runtime import fault_summary
from worldloom.core.runtime.fault_summary import FaultSummary
from worldloom.core.tools.compare import Comparison, Difference, device_name
from worldloom.terminal import console
from worldloom.terminal.flags import Env, Json, names, require_positive
from worldloom.terminal.progress_bar import ProgressBar

Tolerance = Annotated[float | None, tyro.conf.arg(metavar="FLOAT")]


@dataclass
class Check:
    """Run a world on several devices with the same random actions and compare every column of every world after every step.

    Exits with 0 where all is equal, and with 1 and the first difference otherwise. Whole numbers and truth values must be
    equal. Real numbers must be equal bit for bit between python and cpu; where a GPU takes part, they are compared with a
    tolerance, since its elementary functions round differently. With --exact they must be equal bit for bit everywhere.
    """

    env: Env
    """A registered world, or a file that registers one: pond.py or pond.py:Pond-v0."""
    devices: str = "python,cpu"
    """Devices to compare, with commas between; the first is the reference."""
    steps: int = 100
    """Steps to compare. The state after the reset is compared too."""
    num_worlds: int = 16
    """Worlds on each device."""
    seed: int = 0
    """Where the random numbers of worlds and actions start."""
    atol: Tolerance = None
    """Absolute tolerance for real numbers; by default 0, or 1e-4 where a GPU takes part."""
    rtol: Tolerance = None
    """Relative tolerance for real numbers; by default 0, or 1e-4 where a GPU takes part."""
    exact: bool = False
    """Run in exact mode, and hold every device to the bit."""
    sync: bool = True
    """With a tolerance: copy the reference's columns to the others after each step, so that the rounding of one step is judged."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        require_positive(steps=self.steps, num_worlds=self.num_worlds)
        with console.keep_stdout_for_json(self.json):
            made = find(self.env)
            bar = ProgressBar(f"checking {made.id}", self.steps)
            comparison = Comparison(
                made,
                names(self.devices),
                self.num_worlds,
                seed=self.seed,
                atol=self.atol,
                rtol=self.rtol,
                sync=self.sync,
                exact=self.exact,
            )
            with comparison, bar:
                bar.show(0)
                found = comparison.run(self.steps, bar.show)
                faults = fault_summary.read([comparison.reference])
        self._report(comparison, found, faults)
        console.print_warnings(faults.lines())
        return 0 if found is None else 1

    def _report(self, comparison: Comparison, found: Difference | None, faults: FaultSummary) -> None:
        devices = [device_name(simulation) for simulation in comparison.simulations]
        tolerances = {device_name(other): comparison.tolerances(other) for other in comparison.simulations[1:]}
        if self.json:
            console.print_json(
                {
                    "env": comparison.reference.definition.id,
                    "devices": devices,
                    "num_worlds": self.num_worlds,
                    "steps": comparison.steps_done,
                    "seed": self.seed,
                    "columns": comparison.num_columns,
                    "tolerances": {name: {"atol": atol, "rtol": rtol} for name, (atol, rtol) in tolerances.items()},
                    "exact": self.exact,
                    "sync": self.sync,
                    "equal": found is None,
                    "difference": None if found is None else asdict(found),
                    **faults.as_dict(),
                }
            )
            return
        who = f"{comparison.reference.definition.id} on {' and '.join(devices)}"
        if found is not None:
            console.out().print(f"{who}: {found}", style="red", markup=False, soft_wrap=True)
            return
        how = ", ".join(dict.fromkeys(self._how(*pair) for pair in tolerances.values()))
        text = f"{who}: no difference in {comparison.num_columns} columns of {self.num_worlds:,} worlds over {self.steps:,} steps ({how})"
        console.out().print(text, style="green", markup=False, soft_wrap=True)

    def _how(self, atol: float, rtol: float) -> str:
        if atol == 0.0 and rtol == 0.0:
            return "bit for bit, in exact mode" if self.exact else "bit for bit"
        return f"whole numbers equal, real ones within {atol:g} + {rtol:g} * |expected|{', synchronised after each step' if self.sync else ''}"
