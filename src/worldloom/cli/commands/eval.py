"""``worldloom eval``: the mean return of a run's policies."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated, Any

import tyro

from worldloom.cli.commands.eval_cross_play import cross_play_command, cut_lines
from worldloom.cli.parsing.config_values import parse_config_values
from worldloom.cli.run_command import PlayCommand
from worldloom.core.base.errors import InputError
from worldloom.core.runtime import fault_summary
from worldloom.core.runtime.fault_summary import FaultSummary
from worldloom.terminal import console
from worldloom.terminal.flags import Json, Run, Switch, require_positive
from worldloom.terminal.progress_bar import ProgressBar


@dataclass
class Eval(PlayCommand):
    """Evaluate the policies of a run over whole episodes.

    With --cross-play, agents of each run play against agents of each run, and a matrix of mean returns is printed.
    """

    run_dir: Run
    """The folder of a run of `worldloom train`, or a file of policies; with --pretrained, a world."""
    more_runs: Annotated[tyro.conf.Positional[tuple[str, ...]], tyro.conf.arg(metavar="RUN")] = ()
    """Further runs of the same world, with --cross-play."""
    cross_play: Switch = False
    """Play all pairs of the runs: --side of the row's run against the other agents of the column's run."""
    side: str = ""
    """Agents of the row's run, as in Tagger or Player[0:2]; by default the first kind of agent, or the first half of
    the only kind."""
    plot: str = ""
    """Draw the cross-play matrix as a heat map to this file, such as cross_play.png."""
    config: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """A value of the world's configuration instead of the run's, such as shaping=0; may be repeated."""
    episodes: int = 100
    """Number of episodes; with --cross-play of each pair."""
    max_steps: int = 27_000
    """Steps after which an episode is cut off, where the world's own limit is longer or missing. It counts with its
    return so far."""
    epsilon: float | None = None
    """Probability of a random action with dqn, 0 to 1; by default 0.05 in Atari worlds and 0 in others."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        require_positive(episodes=self.episodes, max_steps=self.max_steps)
        if self.epsilon is not None and not 0.0 <= self.epsilon <= 1.0:
            raise InputError(f"--epsilon must be between 0 and 1, not {self.epsilon}")
        if self.cross_play and self.config:
            raise InputError("--config is for the evaluation of one run: leave out --cross-play or --config")
        if self.cross_play:
            return cross_play_command(self)
        given = next((flag for flag in ("more_runs", "side", "plot") if getattr(self, flag)), "")
        if given:
            what = "several runs" if given == "more_runs" else f"--{given}"
            raise InputError(f"{what} need --cross-play: add it, or evaluate one run at a time")
        with console.keep_stdout_for_json(self.json):
            report, faults = self._play()
        if self.json:
            console.print_json({**report, **faults.as_dict()})
        else:
            _show(report)
        console.print_warnings(faults.lines())
        console.print_warnings(cut_lines(report["cut_episodes"], self.episodes, self.max_steps))
        return 0

    def _play(self) -> tuple[dict[str, Any], FaultSummary]:
        """The report of the evaluation, and the faults of single worlds."""
        from worldloom.learn.play.evaluation import evaluate, limit_steps, num_worlds_for

        values = parse_config_values(self.config)
        run = self.open(self.run_dir)
        with (
            run.worlds(num_worlds_for(self.episodes), self.device, self.seed, config=values) as worlds,
            ProgressBar(f"playing {run.definition.id}", self.episodes) as bar,
        ):
            actors = run.actors(worlds, stochastic=self.stochastic, seed=self.seed, epsilon=self.epsilon)
            result = evaluate(
                worlds,
                actors,
                self.episodes,
                on_progress=bar.show,
                max_steps=self.max_steps + 1,
                cut_after=limit_steps(worlds, self.max_steps),
            )
            faults = fault_summary.read([worlds])
        report = {
            "run": str(run.folder),
            "env": run.definition.id,
            "algorithm": run.request.algorithm,
            "iteration": run.checkpoint.iteration,
            "steps": run.checkpoint.steps,
            "changed_world": list(run.changed_world),
        }
        return {**report, "seed": self.seed, "stochastic": self.stochastic, **asdict(result)}, faults


def _show(report: dict[str, Any]) -> None:
    subject = f"{report['env']} after {report['steps']:,} steps of {report['algorithm']}"
    returns = f"from {report['least_return']:.4g} to {report['greatest_return']:.4g}"
    mean = f"mean return {report['mean_return']:.4g} over {report['episodes']:,} episodes, {returns}"
    rate = f"{report['mean_length']:.4g} steps each, {console.format_count(report['steps_per_second'])} steps/s"
    screen = console.out()
    screen.print(f"{subject}: {mean}; {rate}", soft_wrap=True, markup=False)
    if len(report["returns"]) > 1:
        for name, value in report["returns"].items():
            screen.print(f"  {name}: {value:.4g}", soft_wrap=True, markup=False)
    for name, value in report["metrics"].items():
        screen.print(f"  {name}: {value:.4g}", soft_wrap=True, markup=False)
