"""``worldloom train --seeds``: the same training with several seeds, their mean curve and their table."""

from __future__ import annotations

import math
import os
import shlex
import signal
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table

from worldloom.core.base.console import without_notices
from worldloom.core.base.errors import InputError
from worldloom.core.registry.world_files import file_and_id
from worldloom.learn.experiments.interval import Interval, mean_interval
from worldloom.learn.experiments.seed_folder import SeedFolder, SeedResult, open_seed_folder, seed_result
from worldloom.learn.experiments.seed_list import format_seeds, parse_seeds
from worldloom.learn.runs.run_folder import holds_run
from worldloom.learn.tracking.make_trackers import make_trackers
from worldloom.terminal import closed_output, console
from worldloom.terminal.flags import names

if TYPE_CHECKING:
    from worldloom.cli.commands.train import Train
    from worldloom.learn.experiments.num_envs_search import NumEnvsSearch
    from worldloom.learn.runs.training_run import TrainingRequest

CURVE = "curve.png"


def train_seeds(command: Train, request: TrainingRequest, search: NumEnvsSearch | None = None) -> int:
    """Train every seed of ``command.seeds`` that has not finished, and report all of them. Returns the exit code.

    Args:
        command: The command.
        request: The training.
        search: The measurements of ``--num-envs auto``.
    """
    from worldloom.cli.training.stop_on_signal import URGENT

    assert command.seeds is not None
    seeds = parse_seeds(command.seeds)
    _check(command)
    with (
        open_seed_folder(request, seeds) as folder,
        console.keep_stdout_for_json(command.json),
        without_notices(command.quiet),
    ):
        closed_output.set_folder(folder.path)
        train = _train_in_turn if command.parallel_seeds == 1 else _train_side_by_side
        received = train(command, folder)
        closed_output.set_folder(folder.path)  # the training of a seed set its own
        curve = _draw(folder) if received not in URGENT else None
    _report(command, folder, curve, received, search)
    failed = [folder.results[seed] for seed in seeds if seed in folder.results and folder.results[seed].error]
    for result in failed:
        console.print_error(f"seed {result.seed}: {result.error}")
    if received is not None:
        return 128 + received
    return 2 if failed else 0


def _check(command: Train) -> None:
    """InputError for flags that do not go together."""
    if command.parallel_seeds < 1:
        raise InputError(f"--parallel-seeds must be 1 or more, not {command.parallel_seeds}")
    if command.launcher != "here" or int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError("--seeds trains each seed in one process of this machine: omit --launcher ray and torchrun")
    make_trackers(names(command.track))  # refuses what is not there, before anything is written


def _train_in_turn(command: Train, folder: SeedFolder) -> signal.Signals | None:
    """Train one seed after the other; returns the signal that ended it."""
    from worldloom.cli.training.stop_on_signal import StopOnSignal, TrainingAborted
    from worldloom.learn.training.divergence_check import DivergedError

    for seed in folder.pending():
        request, stopping = folder.request_of(seed), StopOnSignal()
        try:
            result = command.train(request, stopping, group=folder.path.name)
        except DivergedError as error:  # other seeds may not
            folder.record(SeedResult(seed, error=str(error)))
            continue
        except TrainingAborted:
            return stopping.received
        folder.record(seed_result(request, result, finished=stopping.received is None))
        console.print_warnings(f"seed {seed}: {line}" for line in result.fault_summary.lines())
        if stopping.received is not None:
            return stopping.received
    return None


def _train_side_by_side(command: Train, folder: SeedFolder) -> signal.Signals | None:
    """Train several seeds at a time; returns the signal that ended it."""
    from worldloom.cli.training.console_callback import ConsoleCallback
    from worldloom.cli.training.parallel_seeds import train_side_by_side
    from worldloom.cli.training.stop_on_signal import ABORT_RAY_AFTER_S, StopOnSignal, TrainingAborted

    stopping, request = StopOnSignal(ABORT_RAY_AFTER_S), folder.request
    at_once = min(command.parallel_seeds, len(folder.pending()))
    if not at_once:
        return None
    try:
        with ConsoleCallback(request, command.quiet) as display, stopping:
            display.set_folder(folder.path)
            details = {"seed": format_seeds(folder.seeds), "side by side": str(at_once)}
            display.open(request.config.num_envs, details)
            tracking = {"names": names(command.track), "project": command.project, "group": folder.path.name}
            train_side_by_side(folder, at_once, tracking, display.update, lambda: stopping.received)
    except TrainingAborted:
        pass
    return stopping.received


def _draw(folder: SeedFolder) -> Path | None:
    """Draw the mean curve. Returns its file; None, with a message, where it cannot be drawn."""
    from worldloom.learn.experiments.mean_curves import mean_curves
    from worldloom.view import draw_mean_curves

    target = folder.path / CURVE
    env, request = file_and_id(folder.request.env)[1], folder.request
    title = f"{env} with {request.algorithm}, seeds {format_seeds(folder.seeds)}"
    try:
        curves = mean_curves([folder.run_path(seed) for seed in folder.seeds])
        draw_mean_curves(curves, target, title, "95 % confidence interval", request.stop_at)
    except InputError as error:
        console.err().print(f"worldloom: no {target.name}: {error}", soft_wrap=True, markup=False)
        return None
    return target


def _report(
    command: Train,
    folder: SeedFolder,
    curve: Path | None,
    received: signal.Signals | None,
    search: NumEnvsSearch | None,
) -> None:
    results = [folder.results.get(seed, SeedResult(seed)) for seed in folder.seeds]
    returns, evaluated = (
        mean_interval(math.nan if value is None else value for value in values)
        for values in ([r.mean_return for r in results], [r.eval_return for r in results])
    )
    if command.json:
        runs = [
            {
                **{name: getattr(r, name) for name in ("seed", "steps", "seconds", "steps_per_second")},
                **{name: getattr(r, name) for name in ("mean_return", "eval_return", "finished")},
                "error": r.error or None,
                "folder": str(folder.run_path(r.seed)),
            }
            for r in results
        ]
        report: dict[str, Any] = {
            "env": file_and_id(folder.request.env)[1],
            "algorithm": folder.request.algorithm,
            "folder": str(folder.path),
            "seeds": runs,
            "mean_return": _as_json(returns),
            "eval_return": _as_json(evaluated),
            "num_envs": folder.request.config.num_envs,
            "num_envs_search": search and search.as_dict(),
            "complete": not folder.pending(),
            "stopped_by": None if received is None else received.name,
            "curve": None if curve is None else str(curve),
        }
        console.print_json(report)
        return
    console.out().print(_table(folder, results, returns, evaluated))
    files = [*([] if curve is None else [curve.name]), "seeds.json", f"seed_{folder.seeds[0]}, ..."]
    lines = [f"{folder.path}: {', '.join(files)}"]
    if folder.pending():
        world = f"{shlex.quote(command.env)} " if file_and_id(folder.request.env)[0] else ""
        lines.append(f"  worldloom train {world}--resume --run-dir {shlex.quote(str(folder.path))}")
    for line in lines:
        console.out().print(line, soft_wrap=True, markup=False)


def _as_json(interval: Interval) -> dict[str, Any]:
    """An interval as JSON values; null where there is no number."""
    return {name: None if value != value else value for name, value in asdict(interval).items()}


def _state(folder: SeedFolder, result: SeedResult) -> str:
    """What became of a seed, in a word or two; empty where it has finished."""
    if result.error:
        return "failed"
    if result.finished:
        return ""
    return "unfinished" if holds_run(folder.run_path(result.seed)) else "not started"


def _table(folder: SeedFolder, results: list[SeedResult], returns: Interval, evaluated: Interval) -> Table:
    has_evaluations = evaluated.count > 0
    table = Table(box=box.SIMPLE)
    for name in ("seed", "return", *(["evaluated"] if has_evaluations else []), "steps", "seconds", "steps/s"):
        table.add_column(name, justify="right")
    table.add_column("state")
    for result in results:
        numbers = [result.mean_return, *([result.eval_return] if has_evaluations else [])]
        table.add_row(
            str(result.seed),
            *("" if number is None else f"{number:.4g}" for number in numbers),
            f"{result.steps:,}",
            f"{result.seconds:.1f}",
            console.format_count(result.steps_per_second),
            _state(folder, result),
        )
    table.add_section()
    intervals = [returns, *([evaluated] if has_evaluations else [])]
    table.add_row("mean ± 95 %", *map(_interval_text, intervals))
    return table


def _interval_text(interval: Interval) -> str:
    if not interval.count:
        return ""
    return f"{interval.mean:.4g}" + (f" ± {console.two_digits(interval.half_width)}" if interval.count > 1 else "")
