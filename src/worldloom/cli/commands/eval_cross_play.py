"""``worldloom eval RUN RUN ... --cross-play``: a matrix of mean returns between the sides of several runs."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table

from worldloom.terminal import console
from worldloom.terminal.progress_bar import ProgressBar
from worldloom.view.heat_map import draw_heat_map

if TYPE_CHECKING:
    from worldloom.cli.commands.eval import Eval
    from worldloom.learn.runs.cross_play import CrossPlay, MeanReturn


def cross_play_command(command: Eval) -> int:
    """Run ``command`` and print its matrix; returns the exit code."""
    from worldloom.learn.runs.cross_play import cross_play
    from worldloom.learn.runs.saved_run import open_run

    folders = [command.run_dir, *command.more_runs]
    with console.keep_stdout_for_json(command.json):
        allow = command.allow_changed_world
        others = [
            open_run(Path(folder), command.checkpoint, command.env, allow_changed_world=allow)
            for folder in command.more_runs
        ]
        runs = [command.open(command.run_dir), *others]
        with ProgressBar(f"playing {runs[0].definition.id}", command.episodes * len(runs) ** 2) as bar:
            result = cross_play(
                runs,
                command.episodes,
                side=command.side,
                device=command.device,
                seed=command.seed,
                stochastic=command.stochastic,
                epsilon=command.epsilon,
                on_progress=bar.show,
                max_steps=command.max_steps,
            )
    world, names = runs[0].definition.id, _short_names(folders)
    if command.plot:
        draw_matrix(result, names, world, Path(command.plot))
    if command.json:
        report = {
            "env": world,
            "runs": folders,
            "steps": [run.checkpoint.steps for run in runs],
            "changed_world": [list(run.changed_world) for run in runs],
            "side": result.side,
            "episodes": result.episodes,
            "cut_episodes": result.cut_episodes,
            "seed": command.seed,
            "stochastic": command.stochastic,
            "rows": [[asdict(cell) for cell in row] for row in result.rows],
            "columns": [[asdict(cell) for cell in row] for row in result.columns],
        }
        console.print_json({**report, **result.fault_summary.as_dict()})
    else:
        screen = console.out()
        screen.print(f"{world}: mean return ± standard error over {result.episodes:,} episodes", markup=False)
        screen.print(matrix_table(result, names))
        screen.print(
            f"first line: {result.side} of the row's run; second line: the other agents, of the column's run",
            soft_wrap=True,
            markup=False,
        )
    console.print_warnings(result.fault_summary.lines())
    console.print_warnings(cut_lines(result.cut_episodes, result.episodes * len(runs) ** 2, command.max_steps))
    return 0


def cut_lines(cut: int, episodes: int, max_steps: int) -> list[str]:
    """The warning about ``cut`` of ``episodes`` episodes that were cut off; none where there are none."""
    if not cut:
        return []
    verb = "was" if cut == 1 else "were"
    return [
        f"{cut:,} of {episodes:,} episodes {verb} cut off after {max_steps:,} steps, and count with the return so far: "
        "give more --max-steps, or give the world a time limit"
    ]


def matrix_table(result: CrossPlay, names: list[str]) -> Table:
    """The mean return of the row's side, and below it that of the column's side."""
    table = Table("", *names, show_lines=True)
    for name, ours, theirs in zip(names, result.rows, result.columns, strict=True):
        cells = (f"{_text(first)}\n{_text(second)}" for first, second in zip(ours, theirs, strict=True))
        table.add_row(name, *cells)
    return table


def draw_matrix(result: CrossPlay, names: list[str], world: str, target: Path) -> None:
    """Draw the mean return of the row's side as a heat map."""
    draw_heat_map(
        [[cell.mean for cell in row] for row in result.rows],
        target,
        f"{world}: return of {result.side}, {result.episodes:,} episodes",
        rows=names,
        columns=names,
        texts=[[_text(cell) for cell in row] for row in result.rows],
        labels=(f"run of {result.side}", "run of the other agents"),
    )


def _text(cell: MeanReturn) -> str:
    return f"{cell.mean:.4g} ± {console.two_digits(cell.standard_error)}"


def _short_names(folders: list[str]) -> list[str]:
    """The names of the folders; their paths where two have the same name."""
    names = [Path(folder).name for folder in folders]
    return names if len(set(names)) == len(names) else folders
