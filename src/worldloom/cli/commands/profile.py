"""``worldloom profile``: time, bytes and share of the bandwidth, per kernel and per system."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from worldloom.core.base.errors import InputError
from worldloom.core.measure.profile import progress_total
from worldloom.core.measure.timing import check_compiled, make_actions, step_runner
from worldloom.core.registry.world_files import find
from worldloom.core.runtime import fault_summary
from worldloom.core.simulation import Simulation
from worldloom.terminal import console
from worldloom.terminal.flags import Env, Json, require_positive
from worldloom.terminal.progress_bar import ProgressBar


@dataclass
class Profile:
    """Step a world with random actions and show where the time of a step goes.

    Kernels are timed as users get them, with neighbouring systems fused. Systems are timed alone, each in a kernel of its own.
    The bandwidth is that of a large copy, measured in the same run.
    """

    env: Env
    """A registered world, or a file that registers one: pond.py or pond.py:Pond-v0."""
    num_worlds: int = 8192
    """Worlds that run side by side."""
    device: str = "cpu"
    """Where they run: cpu, cuda:N or auto."""
    steps: int = 100
    """Steps to record."""
    trace: str = ""
    """Write a Chrome trace of the recorded steps into this file; ui.perfetto.dev shows it."""
    warm_up: int = 50
    """Steps before the measurement, so that worlds are in the middle of their episodes."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        require_positive(num_worlds=self.num_worlds, steps=self.steps, warm_up=self.warm_up)
        if self.trace and not Path(self.trace).absolute().parent.is_dir():
            raise InputError(f"there is no folder {Path(self.trace).parent} for --trace")
        with console.keep_stdout_for_json(self.json):
            made = find(self.env)
            with Simulation(made, self.num_worlds, self.device, seed=0) as simulation:
                check_compiled(simulation)
                actions = make_actions(simulation)
                step_runner(simulation, actions)(self.warm_up)
                with ProgressBar(f"profiling {made.id}", progress_total(self.steps)) as bar:
                    profile = simulation.profile(self.steps, actions, lambda done, total: bar.show(done))
                faults = fault_summary.read([simulation])
        if self.trace:
            profile.save_trace(self.trace)
        if self.json:
            console.print_json({**profile.as_dict(), **faults.as_dict()})
        else:
            console.out().print(profile)
        console.print_warnings(faults.lines())
        return 0
