"""``worldloom tune``: the block size and register limit that suit each kernel of a world on this GPU."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from worldloom.core.base.device import PYTHON, resolve
from worldloom.core.measure.timing import make_actions, step_runner
from worldloom.core.measure.tune import PROGRESS_TOTAL, Tuning, nothing_to_tune
from worldloom.core.registry.registry import Definition
from worldloom.core.registry.world_files import find
from worldloom.core.simulation import Simulation
from worldloom.terminal import console
from worldloom.terminal.flags import Env, Json, require_positive
from worldloom.terminal.progress_bar import ProgressBar


@dataclass
class Tune:
    """Measure block sizes and register limits for every kernel of a world on this GPU, and remember the best.

    What was found is kept on disk, beside the compiled kernels, and used from then on by every simulation of the world on such a
    GPU with up to sixteen times more or fewer worlds. A kernel keeps what it had unless the gain is more than the noise.
    """

    env: Env
    """A registered world, or a file that registers one: pond.py or pond.py:Pond-v0."""
    num_worlds: int = 65_536
    """Worlds that run side by side."""
    device: str = "auto"
    """Where they run: cuda:N, or auto."""
    warm_up: int = 50
    """Steps with random actions before the measurement, so that worlds are in the middle of their episodes."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        require_positive(num_worlds=self.num_worlds, warm_up=self.warm_up)
        with console.keep_stdout_for_json(self.json):
            made = find(self.env)
            device, interpreted = resolve(self.device)
            tuning = (
                self._tune(made)
                if device.is_cuda
                else nothing_to_tune(made.id, PYTHON if interpreted else "cpu", self.num_worlds)
            )
        if self.json:
            console.print_json(asdict(tuning))
        else:
            console.out().print(tuning)
        return 0

    def _tune(self, made: Definition) -> Tuning:
        with Simulation(made, self.num_worlds, self.device, seed=0) as simulation:
            step_runner(simulation, make_actions(simulation))(self.warm_up)
            with ProgressBar(f"tuning {made.id}", PROGRESS_TOTAL) as bar:
                return simulation.tune(lambda done, total: bar.show(done))
