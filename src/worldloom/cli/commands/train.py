"""``worldloom train``: train policies in a world, and write the run to a folder from which it can be resumed."""

from __future__ import annotations

import math
import shlex
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import tyro

from worldloom.cli.parsing.config_values import parse_config_values
from worldloom.cli.parsing.policies import absolute_source, parse_opponents, parse_policies, parse_policy_settings
from worldloom.core.base.console import without_notices
from worldloom.core.base.errors import InputError
from worldloom.core.registry.world_files import file_and_id, find, reference
from worldloom.learn.config.opponent_pool import OpponentPool
from worldloom.terminal import console
from worldloom.terminal.flags import Json, Switch, names

if TYPE_CHECKING:
    from worldloom.cli.training.stop_on_signal import StopOnSignal
    from worldloom.learn.experiments.num_envs_search import NumEnvsSearch
    from worldloom.learn.runs.training_run import TrainingRequest, TrainingResult

MIN_VIDEO_FRAMES = 200
"""The final video adds episodes until it has this many frames."""
MAX_VIDEO_FRAME_RATE = 25.0
"""Frames per second of the final video of a world with twice as many or more; a frame takes 5 ms of processor time."""
MAX_VIDEO_SECONDS = 60.0
"""Wall time of its recording; an OpenGL driver that draws on the CPU needs about 0.1 s for an image of a robot."""


@dataclass
class Train:
    """Train policies in a world.

    The folder of the run holds its settings, metrics, TensorBoard events and checkpoints, and at the end a learning
    curve and a video. Ctrl-C saves a checkpoint and stops; --resume continues exactly where the run stopped.

    The algorithms are ppo (proximal policy optimization), a2c (advantage actor-critic), vtrace (A2C with many small
    batches and V-trace correction), dqn (deep Q-learning), and for continuous actions sac (soft actor-critic) and td3
    (twin delayed deep deterministic policy gradient).
    """

    command_name: ClassVar[str] = "train"
    """The name of the command."""

    env: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="ENV")] = ""
    """World id, or a file that registers a world: pond.py or pond.py:Pond-v0. With --resume only a file is needed."""
    algo: Literal["ppo", "a2c", "vtrace", "dqn", "sac", "td3"] = "ppo"
    """Algorithm. Each has its own flags: see `worldloom train --algo dqn --help`."""
    run_dir: str = ""
    """Folder of the run; by default a new one in runs/."""
    seeds: str | None = None
    """Train each of these seeds, such as 0:5, which is 0 to 4, or 3,7,11, in a folder of its own under --run-dir; ends
    with a table and a curve of their mean."""
    parallel_seeds: int = 1
    """How many seeds to train side by side on the device, each in a process of its own."""
    resume: Literal["no", "yes", "auto"] = "no"
    """Resume the run in --run-dir with its settings; alone it means yes, auto starts a new run if there is none."""
    allow_changed_world: Switch = False
    """Resume although the rules of the world have changed. The change is logged in the run, and the worlds start new
    episodes."""
    config: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="NAME=VALUE")] = ()
    """A value of the world's configuration, such as is_slippery=False; may be repeated."""
    policies: str = ""
    """Agents of each policy, as in "hunters=Wolf;prey=Sheep[0:2],Sheep[2]"; by default one policy per kind of agent."""
    frozen: str = ""
    """Comma-separated names of policies that act but are not trained; they keep their initial random weights."""
    opponent: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="POLICY=RUN")] = ()
    """A policy of an earlier run that acts but is not trained, such as Runner=runs/tag-1; RUN:best and RUN:POLICY name
    a checkpoint and one of several policies, and pretrained those that come with worldloom. It is copied into the run's
    folder. May be repeated."""
    start_from: Annotated[str, tyro.conf.arg(metavar="RUN")] = ""
    """Start with the policies of an earlier run of this world instead of random ones, such as runs/tag-1; RUN:best and
    RUN:POLICY name a checkpoint and one of several policies, and pretrained those that come with worldloom. The
    optimizer has a new state."""
    self_play: str = ""
    """Comma-separated names of policies with a pool of past selves, which act in a part of the worlds."""
    pool: OpponentPool = field(default_factory=OpponentPool)
    """Settings of the pools of past selves, with --self-play."""
    set: Annotated[tyro.conf.UseAppendAction[tuple[str, ...]], tyro.conf.arg(metavar="POLICY:SETTING=VALUE")] = ()
    """A setting of one policy, such as Runner:learning_rate=1e-4, Runner:policy.hidden=(32,32) or Runner:pool.size=8.
    May be repeated."""
    stop_at: float | None = None
    """Stop once the mean return of recent episodes reaches this value."""
    checkpoint_every: float = 30.0
    """Seconds between checkpoints; 0 writes only the last one."""
    keep: int = 3
    """Number of latest checkpoints to keep, in addition to the best."""
    slim_checkpoints: Switch = False
    """Leave the worlds, rollouts and replay buffers out of checkpoints, which are then as small as what was learned. A
    resumed run starts new episodes."""
    track: str = ""
    """Comma-separated experiment trackers that get the metrics, besides TensorBoard: wandb, mlflow. A resumed run
    remembers them."""
    project: str = ""
    """Project in Weights & Biases, experiment in MLflow, with --track; by default that of WANDB_PROJECT or
    MLFLOW_EXPERIMENT_NAME, or worldloom."""
    launcher: Literal["here", "ray"] = "here"
    """Launcher: here (this process, or those of torchrun), or ray (a Ray cluster)."""
    workers: int = 2
    """Number of training processes with --launcher ray."""
    auto_num_envs: Annotated[bool, tyro.conf.Suppress] = False
    """Measure the number of worlds that trains fastest: what --num-envs auto sets."""
    no_video: Switch = False
    """Record no video at the end. A resumed run remembers it."""
    quiet: Switch = False
    """Print no progress, only warnings and the result."""
    json: Json = False
    """Print JSON at the end."""

    def run(self) -> int:
        from worldloom.cli.training.stop_on_signal import (
            ABORT_RAY_AFTER_S,
            StopOnSignal,
            TrainingAborted,
            exit_at_once,
        )

        request, in_cluster = self.request(), self.launcher == "ray"
        search: NumEnvsSearch | None = None
        if self.auto_num_envs:
            from worldloom.cli.training.auto_num_envs import choose_num_envs

            if in_cluster:
                raise InputError("--num-envs auto measures this machine: give a number with --launcher ray")
            request, search = choose_num_envs(request, self.quiet)
        if self.seeds is not None:
            from worldloom.cli.commands.train_seeds import train_seeds

            return train_seeds(self, request, search)
        if request.run_dir is not None:
            from worldloom.learn.runs.run_folder import refuse_running_experiment

            refuse_running_experiment(request.run_dir)
        with console.keep_stdout_for_json(self.json), without_notices(self.quiet):
            stopping = StopOnSignal(ABORT_RAY_AFTER_S if in_cluster else None)
            try:
                result = self.train(request, stopping)
            except (TrainingAborted, SystemExit) as error:
                if in_cluster:  # Ray's exit handlers take seconds; its handler of SIGTERM during its start exits
                    exit_at_once(stopping.code or 128 + signal.SIGTERM)
                if isinstance(error, SystemExit):
                    raise
                return stopping.code
            wanted = result.is_leader and not stopping.is_urgent
            video = not self.no_video and stopping.received is None
            media = self._make_media(request, result, video) if wanted else {}
        if result.is_leader:
            self._report(request, result, media, stopping, search)
            console.print_warnings(result.fault_summary.lines())
        if in_cluster and stopping.is_urgent:
            sys.stdout.flush()
            exit_at_once(stopping.code)
        return stopping.code

    @classmethod
    def can_resume(cls, folder: Path) -> bool:
        """Whether ``folder`` holds what this command can resume."""
        from worldloom.learn.experiments.seed_folder import holds_seeds
        from worldloom.learn.runs.run_folder import holds_run

        return holds_run(folder) or holds_seeds(folder)

    @classmethod
    def saved_request(cls, folder: Path) -> TrainingRequest:
        """The request of what ``folder`` holds; InputError where this command cannot resume it."""
        from worldloom.learn.experiments.seed_folder import holds_seeds, read_seed_folder
        from worldloom.learn.runs.run_folder import read_config
        from worldloom.learn.runs.training_run import request_from_dict

        if holds_seeds(folder):
            return read_seed_folder(folder).request
        return request_from_dict(read_config(folder), folder)

    @classmethod
    def saved_flags(cls, folder: Path) -> tuple[Path, dict[str, Any]]:
        """A run whose trackers count for what ``folder`` holds, and flags of the command besides its request."""
        from worldloom.learn.experiments.seed_folder import holds_seeds, read_seed_folder
        from worldloom.learn.experiments.seed_list import format_seeds

        if not holds_seeds(folder):
            return folder, {}
        seeds = read_seed_folder(folder)
        return seeds.run_path(seeds.seeds[0]), {"seeds": format_seeds(seeds.seeds)}

    def request(self) -> TrainingRequest:
        """The training request; the parser adds the field with the algorithm's settings."""
        from worldloom.learn.config.piecewise_linear import PiecewiseLinear
        from worldloom.learn.runs.training_run import TrainingRequest

        if not self.env:
            raise InputError(
                f"name a world to train in, as in worldloom {self.command_name} CartPole-v1; "
                "`worldloom list` lists the worlds"
            )
        for name in ("stop_at", "checkpoint_every"):
            if isinstance(getattr(self, name), PiecewiseLinear):
                raise InputError(f"--{name.replace('_', '-')} takes one number, not points: {getattr(self, name)}")
        return TrainingRequest(
            reference(self.env, find(self.env)),
            self.algo,
            self.settings,  # type: ignore[attr-defined]
            parse_config_values(self.config),
            parse_policies(self.policies),
            tuple(names(self.frozen)),
            self.stop_at,
            self.checkpoint_every,
            self.keep,
            Path(self.run_dir).expanduser() if self.run_dir else None,
            self.resume,
            parse_opponents(self.opponent),
            tuple(names(self.self_play)),
            self.pool,
            parse_policy_settings(self.set),
            not self.no_video,
            absolute_source(self.start_from),
            self.allow_changed_world,
            slim_checkpoints=self.slim_checkpoints,
        )

    def train(self, request: TrainingRequest, stopping: StopOnSignal, group: str = "") -> TrainingResult:
        """Run one training and show its progress.

        Args:
            request: What to train.
            stopping: Ends the training when a signal arrives.
            group: Group of the run in experiment trackers.
        """
        from worldloom.cli.training.console_callback import ConsoleCallback
        from worldloom.learn.runs.training_run import run_training
        from worldloom.learn.tracking.make_trackers import make_trackers

        trackers = make_trackers(names(self.track), self.project, group)
        with ExitStack() as stack:
            display = stack.enter_context(ConsoleCallback(request, self.quiet))
            stack.enter_context(stopping)
            if self.launcher == "ray":
                from worldloom.learn.runs.ray_training import train_with_ray

                if trackers:
                    raise InputError("--track records trainings of this machine: omit it with --launcher ray")
                display.open(request.config.num_envs, {"Ray workers": str(self.workers)})
                return train_with_ray(
                    request, self.workers, show=display.update, ends=lambda: stopping.received is not None
                )
            for tracker in trackers:
                stack.enter_context(tracker)

            def set_folder(folder: Path) -> None:
                display.set_folder(folder)
                for tracker in trackers:
                    tracker.set_folder(folder)

            return run_training(request, [stopping, display, *trackers], set_folder)

    def _make_media(self, request: TrainingRequest, result: TrainingResult, video: bool) -> dict[str, Path]:
        """Draw the curve and record the video. A file that cannot be made is skipped with a message."""
        from worldloom.cli.training import run_media
        from worldloom.learn.runs.saved_run import open_run

        try:
            run = open_run(result.folder, env=request.env)
        except InputError as error:  # the file of the world was edited during the training
            console.err().print(f"worldloom: no curve and no video: {error}", soft_wrap=True, markup=False)
            return {}
        curve, film = result.folder / "curve.png", result.folder / "video.mp4"
        record = partial(
            run_media.record_video,
            run,
            film,
            episodes=10,
            min_frames=MIN_VIDEO_FRAMES,
            max_seconds=MAX_VIDEO_SECONDS,
            max_frame_rate=MAX_VIDEO_FRAME_RATE,
            quiet=self.quiet,
        )
        with ThreadPoolExecutor(max_workers=1) as pool:  # draws while the frames are encoded in another process
            drawn = pool.submit(run_media.draw_run_curve, run, curve)
            is_recorded = video and _is_made(film, record)
            is_drawn = _is_made(curve, drawn.result)
        return {path.stem: path for path, is_made in ((curve, is_drawn), (film, is_recorded)) if is_made}

    def _report(
        self,
        request: TrainingRequest,
        result: TrainingResult,
        media: dict[str, Path],
        stopping: StopOnSignal,
        search: NumEnvsSearch | None,
    ) -> None:
        file, env = file_and_id(request.env)
        mean_return = result.mean_return if math.isfinite(result.mean_return) else None
        if self.json:
            report: dict[str, Any] = {
                "env": env,
                "algorithm": request.algorithm,
                "folder": str(result.folder),
                "iterations": result.iteration,
                "steps": result.steps,
                "seconds": result.seconds,
                "steps_per_second": result.steps_per_second,
                "mean_return": mean_return,
                "eval_return": result.eval_return if math.isfinite(result.eval_return) else None,
                "unfinished_episodes": result.unfinished.episodes,
                "unfinished_return": result.unfinished.mean_return if result.unfinished.episodes else None,
                "kernels": result.kernels,
                "num_envs": request.config.num_envs,
                "num_envs_search": search and search.as_dict(),
                "complete": result.complete,
                "stopped_by": None if stopping.received is None else stopping.received.name,
                **result.fault_summary.as_dict(),
                **{name: str(media[name]) if name in media else None for name in ("curve", "video")},
            }
            console.print_json(report)
            return
        outcome = _outcome(result)
        speed = f"{console.format_count(result.steps / max(result.seconds, 1e-9))} steps/s"
        rate = f"{result.steps:,} steps in {result.seconds:.1f} s ({speed})"
        files = [*(path.name for path in media.values()), "config.json", "metrics.jsonl", "events", "checkpoints"]
        if result.complete:
            reason = ""
        elif stopping.received is not None:
            reason = ", interrupted"
        else:
            reason = "" if request.stop_at is None else f", which reached --stop-at {request.stop_at:g}"
        lines = [
            f"{env} with {request.algorithm}: {outcome} after {rate}{reason}",
            f"{result.folder}: {', '.join(files)}",
        ]
        folder, world = shlex.quote(str(result.folder)), shlex.quote(self.env)
        in_file = bool(file)
        lines.append(f"  worldloom eval {folder} --env {world}" if in_file else f"  worldloom eval {folder}")
        if stopping.received is not None and not result.complete:
            lines.append(f"  worldloom train {f'{world} ' if in_file else ''}--resume --run-dir {folder}")
        for line in lines:
            console.out().print(line, soft_wrap=True, markup=False)


def _is_made(target: Path, make: Callable[[], object]) -> bool:
    """Whether ``make`` wrote the file ``target``; prints a message where it could not."""
    try:
        make()
        return True
    except InputError as error:
        reason = str(error)
    except KeyboardInterrupt:  # the training is complete and saved
        reason = "interrupted"
    console.err().print(f"worldloom: no {target.name}: {reason}", soft_wrap=True, markup=False)
    return False


def _outcome(result: TrainingResult) -> str:
    """The returns of a training: of recent episodes and the last evaluation, or of unfinished episodes."""
    if math.isfinite(result.mean_return):
        outcome = f"return {result.mean_return:.4g}"
    else:
        running = result.unfinished
        outcome = "not every policy has finished an episode"
        if running.episodes:
            outcome += (
                f"; {running.episodes:,} are unfinished after {running.mean_length:,.0f} steps on average, "
                f"return so far {running.mean_return:.4g}"
            )
    return outcome + (f", evaluated {result.eval_return:.4g}" if math.isfinite(result.eval_return) else "")
