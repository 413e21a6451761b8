"""``worldloom explain``: which systems share a kernel, which do not, and why."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from worldloom.core.base.device import PYTHON
from worldloom.core.registry.world_files import find
from worldloom.core.simulation import Simulation
from worldloom.terminal import console
from worldloom.terminal.flags import Env, Json


@dataclass
class Explain:
    """Show how the systems of a world become kernels: what was fused, what was not and why, and the bytes that a step moves."""

    env: Env
    """A registered world, or a file that registers one: pond.py or pond.py:Pond-v0."""
    device: str = "cpu"
    """The device whose kernels are explained: cpu, cuda:N or auto. For the CPU nothing is compiled."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        with console.keep_stdout_for_json(self.json):
            made = find(self.env)
            device = PYTHON if self.device == "cpu" else self.device  # explained as it would be compiled
            with Simulation(made, 1, device, seed=0) as simulation:
                explanation = simulation.explain()
        if self.json:
            console.print_json(asdict(explanation))
        else:
            console.out().print(explanation)
        return 0
