"""``worldloom bench train``: where the time of a training goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import tyro
from rich import box
from rich.console import Group
from rich.table import Table

from worldloom.cli.commands.train import Train
from worldloom.terminal import console
from worldloom.terminal.flags import Json, require_positive
from worldloom.terminal.progress_bar import ProgressBar

if TYPE_CHECKING:
    from worldloom.learn.experiments.training_profile import TrainingProfile


@dataclass
class BenchTrain(Train):
    """Train a world for some iterations and show where the time goes.

    The rate is that of whole iterations by the wall clock, after a warm-up. One more iteration is recorded by PyTorch's
    profiler. The networks' operations are compared with a product of large matrices in the same run. With --overlap the
    training without it is measured, too. Nothing is written.
    """

    command_name: ClassVar[str] = "bench train"

    iterations: int = 20
    """Number of iterations that are timed."""
    kernels: int = 15
    """Number of kernels to show; on the CPU, of PyTorch's operations."""
    run_dir: Annotated[str, tyro.conf.Suppress] = ""
    seeds: Annotated[str | None, tyro.conf.Suppress] = None
    parallel_seeds: Annotated[int, tyro.conf.Suppress] = 1
    resume: Annotated[Literal["no", "yes", "auto"], tyro.conf.Suppress] = "no"
    allow_changed_world: Annotated[bool, tyro.conf.Suppress] = False
    stop_at: Annotated[float | None, tyro.conf.Suppress] = None
    checkpoint_every: Annotated[float, tyro.conf.Suppress] = 30.0
    keep: Annotated[int, tyro.conf.Suppress] = 3
    slim_checkpoints: Annotated[bool, tyro.conf.Suppress] = False
    track: Annotated[str, tyro.conf.Suppress] = ""
    project: Annotated[str, tyro.conf.Suppress] = ""
    launcher: Annotated[Literal["here", "ray"], tyro.conf.Suppress] = "here"
    workers: Annotated[int, tyro.conf.Suppress] = 2
    no_video: Annotated[bool, tyro.conf.Suppress] = True
    quiet: Annotated[bool, tyro.conf.Suppress] = False
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        from worldloom.learn.experiments.training_profile import profile_training

        require_positive(iterations=self.iterations, kernels=self.kernels)
        with console.keep_stdout_for_json(self.json):
            request = self.request()
            with ProgressBar(f"training {self.env}", 2 * self.iterations + 1, quiet=self.json) as bar:
                profile = profile_training(request, self.iterations, lambda done, total: bar.show(done, total))
        console.print_result(self.json, profile.as_dict(), _shown(profile, self.kernels))
        return 0


def _shown(profile: TrainingProfile, kernels: int) -> Group:
    rate, products = console.format_count(profile.steps_per_second), console.format_count(profile.product_rate)
    lines = [
        f"{profile.env} with {profile.algorithm} on {profile.device}, {profile.num_envs:,} worlds: "
        f"{rate} world steps/s, {profile.seconds * 1e3:,.1f} ms per iteration of {profile.iteration_steps:,} world "
        f"steps, over {profile.iterations} iterations.",
        "Phases: " + ", ".join(f"{name} {_part(time, profile.seconds)}" for name, time in profile.phases.items()) + ".",
    ]
    if profile.sequential_phases is not None and profile.hidden_share is not None:
        phases = ", ".join(f"{name} {time * 1e3:,.1f} ms" for name, time in profile.sequential_phases.items())
        lines.append(f"Without overlap: {phases}. Overlap hides {profile.hidden_share:.0%} of the shorter one.")
    if profile.operations is not None:
        operations = console.format_count(profile.operations)
        lines.append(
            f"Networks: {operations} operations per iteration, {profile.product_share:.1%} of the rate of large "
            f"products in {profile.precision}, {products}/s."
        )
    lines += [f"Policy '{name}' is computed by: {what}." for name, what in profile.computed_by.items()]
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("kernel" if profile.device != "cpu" else "operation", overflow="fold")
    for heading in ("share", "ms", "launches"):
        table.add_column(heading, justify="right", no_wrap=True)
    busy = sum(kernel.seconds for kernel in profile.kernels)
    for kernel in profile.kernels[:kernels]:
        numbers = (f"{kernel.seconds / busy:.1%}", f"{kernel.seconds * 1e3:,.3f}", f"{kernel.launches:,}")
        table.add_row(kernel.name, *numbers, style="bold" if kernel.is_product else "")
    own = sum(kernel.seconds for kernel in profile.kernels if kernel.is_product)
    if profile.kernels:
        what = "PyTorch's operations, without worlds and native kernels" if profile.device == "cpu" else "kernels"
        lines.append(f"One more iteration: {busy * 1e3:,.1f} ms of {what}; products (bold) {own / busy:.0%}.")
    return Group(*lines, *([table] if profile.kernels else []))


def _part(seconds: float, whole: float) -> str:
    return f"{seconds * 1e3:,.1f} ms ({seconds / whole:.0%})"
