"""``worldloom train --num-envs auto``: the request with the number of worlds that trains fastest, and the table."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

from worldloom.core.base.errors import InputError
from worldloom.learn.experiments.num_envs_search import NumEnvsSearch, search_num_envs
from worldloom.learn.experiments.seed_folder import holds_seeds
from worldloom.learn.runs.run_folder import holds_run
from worldloom.learn.runs.training_request import TrainingRequest
from worldloom.terminal import console

if TYPE_CHECKING:
    from worldloom.learn.experiments.batch_rate import BatchRate


def choose_num_envs(request: TrainingRequest, quiet: bool) -> tuple[TrainingRequest, NumEnvsSearch]:
    """``request`` with the fastest number of worlds. Unless ``quiet``, shows what was measured on standard error."""
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise InputError("--num-envs auto measures a single process: give a number with torchrun")
    if request.run_dir is not None and (holds_run(request.run_dir) or holds_seeds(request.run_dir)):
        raise InputError(f"{request.run_dir} already holds a run: give --resume to continue it, or another --run-dir")

    def show(rate: BatchRate) -> None:
        if not quiet:
            console.err().print(f"  {_line(rate)}", soft_wrap=True, markup=False)

    if not quiet:
        console.err().print("measuring numbers of worlds:", markup=False)
    search = search_num_envs(request, show)
    if not quiet:
        console.err().print(table(search))
        console.err().print(f"the search ended there: {search.end}", soft_wrap=True, markup=False)
    return replace(request, config=replace(request.config, num_envs=search.best.num_envs)), search


def _line(rate: BatchRate) -> str:
    if rate.steps_per_second is None:
        return f"{rate.num_envs:,} worlds: {rate.problem}"
    return f"{rate.num_envs:,} worlds: {rate.steps_per_second:,.0f} steps/s"


def table(search: NumEnvsSearch) -> Table:
    """What was measured, with the fastest marked."""
    rows = Table(box=box.SIMPLE)
    for name in ("worlds", "trained steps/s", "relative", "memory"):
        rows.add_column(name, justify="right")
    rows.add_column("")
    best = search.best
    for rate in search.rates:
        speed = rate.steps_per_second
        rows.add_row(
            f"{rate.num_envs:,}",
            "" if speed is None else f"{speed:,.0f}",
            "" if speed is None else f"{speed / (best.steps_per_second or 1.0):.0%}",
            console.format_bytes(rate.memory) if rate.memory else "",
            rate.problem or ("fastest" if rate is best else ""),
        )
    return rows
