"""``worldloom eval``: how good the policies of a run are."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.core.runtime import fault_summary
from worldloom.core.runtime.fault_summary import FaultSummary
from worldloom.terminal import console
from worldloom.terminal.flags import Json, Run, Switch, require_positive
from worldloom.terminal.progress_bar import ProgressBar


@dataclass
class Eval:
    """Let the policies of a run play whole episodes, and say what they got."""

    run_dir: Run
    """The folder of a run, as `worldloom train` leaves it."""
    episodes: int = 100
    """Episodes to play."""
    env: str = ""
    """The file that registers the run's world, as in pond.py; a registered world need not be named."""
    checkpoint: str = "last"
    """Which policies: last, best, or a checkpoint of the run by its name or path."""
    device: str = "cpu"
    """Where the worlds and the policies run: cpu, cuda:N or auto."""
    seed: int = 1_000_000
    """Where the random numbers of the worlds start."""
    stochastic: Switch = False
    """Draw actions as in the training, instead of the likeliest ones."""
    epsilon: float | None = None
    """How often a policy of dqn acts at random, 0 to 1; unless given, 0.05 in Atari worlds and 0 in others."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        require_positive(episodes=self.episodes)
        if self.epsilon is not None and not 0.0 <= self.epsilon <= 1.0:
            raise InputError(f"--epsilon must lie between 0 and 1, not be {self.epsilon}")
        with console.keep_stdout_for_json(self.json):
            report, found = self._play()
        if self.json:
            console.print_json({**report, **found.as_dict()})
        else:
            _show(report)
        console.print_warnings(found.lines())
        return 0

    def _play(self) -> tuple[dict[str, Any], FaultSummary]:
        """What the policies got, and what went wrong in single worlds meanwhile."""
        from worldloom.learn.play.actors import open_run
        from worldloom.learn.play.evaluation import evaluate, num_worlds_for

        run = open_run(Path(self.run_dir), self.checkpoint, self.env)
        with (
            run.worlds(num_worlds_for(self.episodes), self.device, self.seed) as worlds,
            ProgressBar(f"playing {run.definition.id}", self.episodes) as bar,
        ):
            actors = run.actors(worlds, stochastic=self.stochastic, seed=self.seed, epsilon=self.epsilon)
            found = evaluate(worlds, actors, self.episodes, bar.show)
            faults = fault_summary.read([worlds])
        saved = run.checkpoint
        head = {
            "run": str(run.folder),
            "env": run.definition.id,
            "algorithm": run.request.algorithm,
            "iteration": saved.iteration,
            "steps": saved.steps,
        }
        return {**head, "seed": self.seed, "stochastic": self.stochastic, **asdict(found)}, faults


def _show(report: dict[str, Any]) -> None:
    what = f"{report['env']} after {report['steps']:,} steps of {report['algorithm']}"
    got = f"mean return {report['mean_return']:.4g} over {report['episodes']:,} episodes, from {report['least_return']:.4g} to {report['greatest_return']:.4g}"
    pace = f"{report['mean_length']:.4g} steps each, {console.number(report['steps_per_second'])} steps/s"
    screen = console.out()
    screen.print(f"{what}: {got}; {pace}", soft_wrap=True, markup=False)
    if len(report["returns"]) > 1:
        for name, value in report["returns"].items():
            screen.print(f"  {name}: {value:.4g}", soft_wrap=True, markup=False)
