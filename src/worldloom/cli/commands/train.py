"""``worldloom train``: policies learn in a world, in a folder of their own, and can go on later."""

from __future__ import annotations

import math
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import tyro

from worldloom.core.base.errors import InputError
from worldloom.core.registry.world_files import file_and_id
from worldloom.terminal import console
from worldloom.terminal.flags import Json, Switch

if TYPE_CHECKING:
    from worldloom.cli.training.stop_on_signal import StopOnSignal
    from worldloom.learn.runs.training_run import TrainingRequest, TrainingResult

ENOUGH_FRAMES = 200
"""The video at the end shows another episode while it has fewer pictures than this."""


@dataclass
class Train:
    """Train policies in a world.

    The run gets a folder with its settings, metrics, TensorBoard events and checkpoints, and at the end a curve and a video. Ctrl-C ends
    it in good order, and --resume goes on with it as if it had never stopped.

    The algorithms are ppo (proximal policy optimisation), a2c (advantage actor-critic), vtrace (A2C with many small batches, corrected by
    V-trace) and dqn (deep Q learning).
    """

    env: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENV")] = ""
    """A registered world, or a file that registers one: pond.py or pond.py:Pond-v0. With --resume only a file must be named."""
    algo: Literal["ppo", "a2c", "vtrace", "dqn"] = "ppo"
    """How they learn. Each algorithm has settings of its own, which `worldloom train --algo dqn --help` lists."""
    run_dir: str = ""
    """The folder of the run; by default the next free one in runs/."""
    resume: Literal["no", "yes", "auto"] = "no"
    """Go on with the run in --run-dir; --resume alone means yes, and auto begins a new one where there is none. It keeps its settings."""
    config: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """A value of the world's own configuration, such as is_slippery=False; may be given several times."""
    policies: str = ""
    """Which agents share a policy, as in "hunters=Wolf;prey=Sheep[0:2],Sheep[2]"; by default every kind of agent has one."""
    frozen: str = ""
    """Names of policies that play but do not learn, with commas between; each keeps the random weights that it begins with, also after --resume."""
    stop_at: float | None = None
    """End the training once the mean return of recent episodes has reached this."""
    checkpoint_every: float = 30.0
    """Seconds between two checkpoints; 0 for none but the last."""
    keep: int = 3
    """How many of the last checkpoints are kept, beside the best."""
    launcher: Literal["here", "ray"] = "here"
    """Where it runs: here (in this process, or in those of torchrun), or ray (on a Ray cluster)."""
    workers: int = 2
    """With --launcher ray: how many processes train together."""
    no_video: Switch = False
    """Make no video at the end."""
    quiet: Switch = False
    """Say nothing while it trains."""
    json: Json = False
    """Print JSON at the end."""

    def run(self) -> int:
        from worldloom.cli.training.stop_on_signal import StopOnSignal

        request = self.request()
        with console.keep_stdout_for_json(self.json):
            stopping = StopOnSignal()
            outcome = self._train(request, stopping)
            drawn = (
                self._draw(request, outcome, video=not self.no_video and stopping.received is None)
                if outcome.is_leader
                else {}
            )
        if outcome.is_leader:
            self._report(request, outcome, drawn, stopping)
            console.print_warnings(outcome.fault_summary.lines())
        return stopping.code

    def request(self) -> TrainingRequest:
        """What is asked for; the settings of the algorithm are in the field that the form adds."""
        from worldloom.cli.commands.train_parser import parse_config_values, parse_policies
        from worldloom.core.registry.world_files import find, reference
        from worldloom.learn.runs.training_run import TrainingRequest

        if not self.env:
            raise InputError(
                "name a world to train in, as in worldloom train CartPole-v1; `worldloom list` shows those there are"
            )
        return TrainingRequest(
            reference(self.env, find(self.env)),
            self.algo,
            self.settings,  # type: ignore[attr-defined]
            parse_config_values(self.config),
            parse_policies(self.policies),
            tuple(name.strip() for name in self.frozen.split(",") if name.strip()),
            self.stop_at,
            self.checkpoint_every,
            self.keep,
            Path(self.run_dir).expanduser() if self.run_dir else None,
            self.resume,
        )

    def _train(self, request: TrainingRequest, stopping: StopOnSignal) -> TrainingResult:
        from worldloom.cli.training.console_callback import ConsoleCallback
        from worldloom.learn.runs.training_run import run_training

        with ConsoleCallback(request, self.quiet) as shown, stopping:
            if self.launcher == "ray":
                from worldloom.learn.runs.ray_training import train_with_ray

                shown.begin(request.config.num_envs, {"Ray workers": str(self.workers)})
                return train_with_ray(
                    request, self.workers, show=shown.show, ends=lambda: stopping.received is not None
                )
            return run_training(request, [stopping, shown], shown.set_folder)

    def _draw(self, request: TrainingRequest, outcome: TrainingResult, video: bool) -> dict[str, Path]:
        """Draw the curve and film the policies; what cannot be made is told and left out."""
        from worldloom.cli.training import run_media
        from worldloom.learn.play.actors import open_run

        run = open_run(outcome.folder, env=request.env)
        drawn: dict[str, Path] = {}
        for name, wanted in (("curve.png", True), ("video.mp4", video)):
            if not wanted:
                continue
            target = outcome.folder / name
            try:
                if name == "curve.png":
                    run_media.curve(run, target)
                else:
                    run_media.video(run, target, episodes=10, enough=ENOUGH_FRAMES)
                drawn[target.stem] = target
            except InputError as error:
                console.err().print(f"worldloom: no {name}: {error}", soft_wrap=True, markup=False)
            except KeyboardInterrupt:  # the training is done and saved; only its pictures are left out
                console.err().print(f"worldloom: no {name}: interrupted", soft_wrap=True, markup=False)
        return drawn

    def _report(
        self, request: TrainingRequest, outcome: TrainingResult, drawn: dict[str, Path], stopping: StopOnSignal
    ) -> None:
        file, env = file_and_id(request.env)
        known = outcome.mean_return if math.isfinite(outcome.mean_return) else None
        if self.json:
            report: dict[str, Any] = {
                "env": env,
                "algorithm": request.algorithm,
                "folder": str(outcome.folder),
                "iterations": outcome.iteration,
                "steps": outcome.steps,
                "seconds": outcome.seconds,
                "steps_per_second": outcome.steps_per_second,
                "mean_return": known,
                "complete": outcome.complete,
                "stopped_by": None if stopping.received is None else stopping.received.name,
                **outcome.fault_summary.as_dict(),
                **{name: str(drawn[name]) if name in drawn else None for name in ("curve", "video")},
            }
            console.print_json(report)
            return
        gained = "not every policy has finished an episode" if known is None else f"return {known:.4g}"
        pace = (
            f"{outcome.steps:,} steps in {outcome.seconds:.1f} s ({console.number(outcome.steps_per_second)} steps/s)"
        )
        files = [*(path.name for path in drawn.values()), "config.json", "metrics.jsonl", "events", "checkpoints"]
        ended = (
            ""
            if outcome.complete
            else ", interrupted"
            if stopping.received is not None
            else f", which reached --stop-at {request.stop_at:g}"
            if request.stop_at is not None
            else ""
        )
        lines = [
            f"{env} with {request.algorithm}: {gained} after {pace}{ended}",
            f"{outcome.folder}: {', '.join(files)}",
        ]
        folder, world = shlex.quote(str(outcome.folder)), shlex.quote(self.env)
        in_file = bool(file)
        lines.append(f"  worldloom eval {folder} --env {world}" if in_file else f"  worldloom eval {folder}")
        if stopping.received is not None and not outcome.complete:
            lines.append(f"  worldloom train {f'{world} ' if in_file else ''}--resume --run-dir {folder}")
        for line in lines:
            console.out().print(line, soft_wrap=True, markup=False)
