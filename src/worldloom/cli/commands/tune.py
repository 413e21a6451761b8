"""``worldloom tune``: the fastest block size and register limit for each kernel of a world on this GPU."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from worldloom.cli.world_command import BatchCommand
from worldloom.core.base.device import PYTHON, resolve
from worldloom.core.measure.timing import make_actions, step_runner
from worldloom.core.measure.tune import Tuning, nothing_to_tune, progress_total
from worldloom.core.registry.definition import Definition
from worldloom.core.simulation import Simulation
from worldloom.terminal import console
from worldloom.terminal.flags import Json, require_positive
from worldloom.terminal.progress_bar import ProgressBar


@dataclass
class Tune(BatchCommand):
    """Measure block sizes and register limits for every kernel of a world on this GPU, and store the fastest.

    The results are stored on disk beside the compiled kernels. Every later simulation of the world on such a GPU uses
    them, with up to sixteen times more or fewer worlds. A kernel's settings change only if the gain exceeds the noise.
    """

    num_worlds: int = 65_536
    """Number of worlds."""
    device: str = "auto"
    """Device: cuda:N, or auto."""
    warm_up: int = 50
    """Steps with random actions before the measurement, so that worlds are in the middle of their episodes."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        require_positive(num_worlds=self.num_worlds, warm_up=self.warm_up)
        with console.keep_stdout_for_json(self.json):
            definition = self.definition()
            device, interpreted = resolve(self.device)
            tuning = (
                self._tune(definition)
                if device.is_cuda
                else nothing_to_tune(definition.id, PYTHON if interpreted else "cpu", self.num_worlds)
            )
        console.print_result(self.json, asdict(tuning), tuning)
        return 0

    def _tune(self, definition: Definition) -> Tuning:
        with Simulation(definition, self.num_worlds, self.device, seed=0) as simulation:
            step_runner(simulation, make_actions(simulation))(self.warm_up)
            with ProgressBar(f"tuning {definition.id}", progress_total(simulation)) as bar:
                return simulation.tune(lambda done, total: bar.show(done))
