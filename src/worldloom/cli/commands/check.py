"""``worldloom check``: whether a world gives the same results on every device."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

import tyro

from worldloom.cli.world_command import WorldCommand
from worldloom.core.runtime import fault_summary
from worldloom.core.runtime.fault_summary import FaultSummary
from worldloom.core.tools.compare import Comparison, Difference, device_name
from worldloom.terminal import console
from worldloom.terminal.flags import Json, names, require_positive
from worldloom.terminal.progress_bar import ProgressBar

Tolerance = Annotated[float | None, tyro.conf.arg(metavar="FLOAT")]


@dataclass
class Check(WorldCommand):
    """Run a world on several devices with the same random actions, and compare all columns after every step.

    Exits with 0 if all are equal, or with 1 and the first difference. Integers and truth values must be equal. Real
    numbers must be bit-identical between python and cpu. A GPU is compared with a tolerance, because its elementary
    functions round differently. With --exact all devices must be bit-identical.
    """

    devices: str = "python,cpu"
    """Comma-separated devices to compare; the first is the reference."""
    steps: int = 100
    """Number of steps. The state after the reset is compared as well."""
    num_worlds: int = 16
    """Number of worlds on each device."""
    seed: int = 0
    """Random seed of worlds and actions."""
    atol: Tolerance = None
    """Absolute tolerance for real numbers; by default 0, or 1e-4 with a GPU."""
    rtol: Tolerance = None
    """Relative tolerance for real numbers; by default 0, or 1e-4 with a GPU."""
    exact: bool = False
    """Run in exact mode, and require bit-identical results on every device."""
    sync: bool = True
    """With a tolerance: copy the reference's columns to the others after each step; errors do not accumulate."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        require_positive(steps=self.steps, num_worlds=self.num_worlds)
        with console.keep_stdout_for_json(self.json):
            definition = self.definition()
            bar = ProgressBar(f"checking {definition.id}", self.steps)
            comparison = Comparison(
                definition,
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
                difference = comparison.run(self.steps, bar.show)
                faults = fault_summary.read([comparison.reference])
        self._report(comparison, difference, faults)
        console.print_warnings(faults.lines())
        return 0 if difference is None else 1

    def _report(self, comparison: Comparison, difference: Difference | None, faults: FaultSummary) -> None:
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
                    "equal": difference is None,
                    "difference": None if difference is None else asdict(difference),
                    **faults.as_dict(),
                }
            )
            return
        subject = f"{comparison.reference.definition.id} on {' and '.join(devices)}"
        if difference is not None:
            console.out().print(f"{subject}: {difference}", style="red", markup=False, soft_wrap=True)
            return
        criteria = ", ".join(dict.fromkeys(self._criterion(*pair) for pair in tolerances.values()))
        scope = f"{comparison.num_columns} columns of {self.num_worlds:,} worlds over {self.steps:,} steps"
        text = f"{subject}: no difference in {scope} ({criteria})"
        console.out().print(text, style="green", markup=False, soft_wrap=True)

    def _criterion(self, atol: float, rtol: float) -> str:
        if atol == 0.0 and rtol == 0.0:
            return "bit for bit, in exact mode" if self.exact else "bit for bit"
        synchronised = ", synchronised after each step" if self.sync else ""
        return f"whole numbers equal, real ones within {atol:g} + {rtol:g} * |expected|{synchronised}"
