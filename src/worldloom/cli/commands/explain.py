"""``worldloom explain``: which systems are fused into one kernel, which are not, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from worldloom.cli.world_command import WorldCommand
from worldloom.core.base.device import PYTHON
from worldloom.core.simulation import Simulation
from worldloom.terminal import console
from worldloom.terminal.flags import Json


@dataclass
class Explain(WorldCommand):
    """Show how the systems of a world become kernels: which are fused, which not and why, and the bytes per step."""

    device: str = "cpu"
    """Device of the kernels: cpu, cuda:N or auto. For the CPU nothing is compiled."""
    num_worlds: int = 1
    """Number of worlds that kernels and alternatives are chosen for; they differ with large batches on a GPU."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        with console.keep_stdout_for_json(self.json):
            device = PYTHON if self.device == "cpu" else self.device  # the same explanation, without compilation
            with Simulation(self.definition(), 1, device, seed=0, kernels_for=self.num_worlds) as simulation:
                explanation = simulation.explain()
        console.print_result(self.json, asdict(explanation), explanation)
        return 0
