"""``worldloom profile``: time, bytes and fraction of the bandwidth, per kernel and per system."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from worldloom.cli.world_command import BatchCommand
from worldloom.core.base.errors import InputError
from worldloom.core.measure.profile import progress_total
from worldloom.core.measure.timing import check_compiled, make_actions, step_runner
from worldloom.core.runtime import fault_summary
from worldloom.core.simulation import Simulation
from worldloom.terminal import console
from worldloom.terminal.flags import Json, require_positive
from worldloom.terminal.progress_bar import ProgressBar


@dataclass
class Profile(BatchCommand):
    """Step a world with random actions and show the time of a step by kernel and by system.

    Kernels are timed with adjacent systems fused, as in a normal run. Systems are timed alone, each in its own kernel.
    The bandwidth is that of a large copy, measured in the same run.
    """

    steps: int = 100
    """Number of steps to record."""
    trace: str = ""
    """Write a Chrome trace of the recorded steps to this file; open it at ui.perfetto.dev."""
    warm_up: int = 50
    """Steps before the measurement, so that worlds are in the middle of their episodes."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        require_positive(num_worlds=self.num_worlds, steps=self.steps, warm_up=self.warm_up)
        if self.trace and not Path(self.trace).absolute().parent.is_dir():
            raise InputError(f"there is no folder {Path(self.trace).parent} for --trace")
        with console.keep_stdout_for_json(self.json):
            definition = self.definition()
            with Simulation(definition, self.num_worlds, self.device, seed=0) as simulation:
                check_compiled(simulation)
                actions = make_actions(simulation)
                step_runner(simulation, actions)(self.warm_up)
                with ProgressBar(f"profiling {definition.id}", progress_total(self.steps)) as bar:
                    profile = simulation.profile(self.steps, actions, lambda done, total: bar.show(done))
                faults = fault_summary.read([simulation])
        if self.trace:
            profile.save_trace(self.trace)
        console.print_result(self.json, {**profile.as_dict(), **faults.as_dict()}, profile)
        console.print_warnings(faults.lines())
        return 0
