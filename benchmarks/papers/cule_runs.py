"""Trainings of CuLE's Table 3: their settings, and one training in pieces, tested in ale-py while its clock stands."""

from __future__ import annotations

import math
import shutil
import time
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import benchmarks_path  # noqa: F401
import torch
import warp as wp
from ale_games import AleTest
from published import published
from results import Results, Row
from rich.console import Console

from worldloom.core.base.device import resolve
from worldloom.learn import Callback, Progress, VTrace, VTraceConfig
from worldloom.learn.config.tuned_defaults import tuned_config
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.training.trainer import Trainer

TEST_SEED = 10_000
"""Seed of the first test, different from those of the training."""


@dataclass(frozen=True)
class CuleRun:
    """One training.

    Attributes:
        consoles: Consoles that all take the same number of steps.
        batches: Groups of consoles; an update uses one of them.
        num_steps: N, the length of the window of an update.
        steps_per_update: SPU, steps of every console between two updates.
    """

    game: str
    consoles: int
    batches: int
    num_steps: int
    steps_per_update: int
    seed: int

    @property
    def key(self) -> str:
        return f"{self.game}/{self.consoles}-{self.batches}-{self.num_steps}-{self.steps_per_update}/{self.seed}"

    def config(self, device: str, total_steps: int, precision: str | None) -> VTraceConfig:
        """The tuned settings of the game with those of the paper and, where it gives none, of its program."""
        given: dict[str, Any] = {
            k: v for k, v in published("cule")["program"].items() if k not in ("source", "max_game_steps")
        }
        normalize = given.pop("normalize_images")
        given |= {"precision": precision} if precision else {}
        config = tuned_config(self.game, "vtrace", VTraceConfig, device)
        assert isinstance(config, VTraceConfig)
        return replace(
            config,
            num_envs=self.consoles,
            batches=self.batches,
            num_steps=self.num_steps,
            steps_per_update=self.steps_per_update,
            schedule="constant",
            seed=self.seed,
            device=device,
            total_steps=total_steps,
            policy=replace(config.policy, normalize_images=normalize),
            **given,
        )


@dataclass(frozen=True)
class Limits:
    """When a training is tested and when it ends.

    Attributes:
        score: Mean score of a test that ends the training.
        frames: Training frames, steps of all consoles, that end it.
        seconds: Training time, tests not counted, that ends it.
        every: Training frames between two tests.
        first: Training frames before the first test.
        keep_on: Whether it continues after the score, as in Figure 5.
        stop_at: ``time.perf_counter()`` at which this piece ends.
    """

    score: float
    frames: int
    seconds: float
    every: int
    first: int = 0
    keep_on: bool = False
    stop_at: float = math.inf


def is_complete(row: Row | None, limits: Limits) -> bool:
    """Whether a training has reached the score, its frames or its time."""
    if row is None:
        return False
    reached = row["reached_seconds"] is not None and not limits.keep_on
    return reached or row["frames"] >= limits.frames or row["seconds"] >= limits.seconds


@dataclass
class Clock(Callback):
    """Times a training without its tests, tests the policy, and stops at the limits."""

    run: CuleRun
    limits: Limits
    test: AleTest
    row: Row
    console: Console
    started: float = 0.0
    earlier: float = 0.0
    paused: float = field(default=0.0)

    def on_start(self, trainer: Trainer) -> None:
        self.started, self.earlier = time.perf_counter(), self.row["seconds"]

    def on_iteration(self, trainer: Trainer, progress: Progress) -> None:
        frames = trainer.steps
        if frames >= self._next_test():
            self.pause(trainer)
        over = self.seconds >= self.limits.seconds or time.perf_counter() >= self.limits.stop_at
        if over or is_complete({**self.row, "frames": frames, "seconds": self.seconds}, self.limits):
            trainer.stop()

    def on_end(self, trainer: Trainer) -> None:
        _synchronize(trainer.device)
        self._note(trainer)
        if is_complete({**self.row, "reached_seconds": None}, self.limits) and not self._tested_now():
            self.pause(trainer)

    @property
    def seconds(self) -> float:
        """Training time in all pieces."""
        return self.earlier + time.perf_counter() - self.started - self.paused

    def pause(self, trainer: Trainer) -> None:
        """Test the policy that the iterations so far have left."""
        _synchronize(trainer.device)
        self._note(trainer)
        began, row = time.perf_counter(), self.row
        (learner,) = trainer.learners.values()  # type: ignore[attr-defined]
        scores = self.test.play(learner, trainer.device, TEST_SEED + len(row["tests"]))
        mean = float(scores.mean())
        row["tests"].append(
            {"seconds": row["seconds"], "frames": row["frames"], "score": mean, "std": float(scores.std())}
        )
        if row["reached_seconds"] is None and mean >= self.limits.score:
            row |= {"reached_seconds": row["seconds"], "reached_frames": row["frames"]}
        took = time.perf_counter() - began
        self.paused += took
        self.console.print(
            f"{self.run.key}: {row['seconds']:.1f} s, {row['frames']:,} frames, {row['kfps']:.3g} K/s: "
            f"score {mean:.1f} in ale-py ({len(scores)} games, {took:.1f} s)"
        )

    def _note(self, trainer: Trainer) -> None:
        row, seconds = self.row, self.seconds
        updates = trainer.steps // (self.run.consoles * self.run.steps_per_update)
        row |= {"seconds": seconds, "frames": trainer.steps, "updates": updates}
        row |= {"kfps": trainer.steps / seconds / 1e3, "ups": updates / seconds}

    def _next_test(self) -> int:
        tests = self.row["tests"]
        return max(self.limits.first, (tests[-1]["frames"] if tests else 0) + self.limits.every)

    def _tested_now(self) -> bool:
        tests = self.row["tests"]
        return bool(tests) and tests[-1]["frames"] == self.row["frames"]


def train(
    run: CuleRun, limits: Limits, test: AleTest, results: Results, device: str, precision: str | None, console: Console
) -> Row:
    """Train until a limit, from the checkpoint of the last piece where there is one; its row, which is stored too."""
    config = run.config(device, limits.frames, precision)
    checkpoints = Checkpoints(results.folder(run.key), keep=1)
    row, latest = results.rows.get(run.key), checkpoints.latest()
    if row is None or latest is None:  # without a checkpoint from the start
        row = {**asdict(run), "score": limits.score, "seconds": 0.0, "frames": 0, "updates": 0, "kfps": 0.0, "ups": 0.0}
        row |= {"reached_seconds": None, "reached_frames": None, "tests": [], "precision": config.precision}
        latest = None
    began = time.perf_counter()
    trainer = VTrace(run.game, config)
    if latest is not None:
        saved = checkpoints.load(latest)
        trainer.load_state(saved.tensors, saved.state)
    console.print(
        f"{run.key}: {'continued at' if latest else 'from'} {row['frames']:,} frames on {device}, "
        f"made in {time.perf_counter() - began:.1f} s"
    )
    row = {**row, "tests": list(row["tests"])}
    trainer.learn(limits.frames, callbacks=Clock(run, limits, test, row, console))
    if is_complete(row, limits) and row["reached_seconds"] is not None:
        shutil.rmtree(checkpoints.folder, ignore_errors=True)
    else:  # a later command may continue it, or raise the limit
        tensors, plain = trainer.state()
        checkpoints.save(tensors, plain, iteration=trainer.iteration, steps=trainer.steps)
    trainer.simulation.close()
    results.put(run.key, row, _warp_device(device))
    return row


def columns(run: CuleRun) -> list[tuple[str, dict[str, Any]]]:
    """Published columns with the settings of a run: their engine, and the game's figures in them."""
    table = published("cule")["table3"]
    game = table["games"].get(run.game)
    found = []
    for number, column in enumerate(table["columns"]):
        names = ("consoles", "batches", "num_steps", "steps_per_update")
        if game is not None and column["gpus"] == 1 and all(column[n] == getattr(run, n) for n in names):
            found.append((column["engine"], {n: game[n][number] for n in ("kfps", "ups", "minutes", "mframes")}))
    return found


def _synchronize(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def _warp_device(device: str) -> wp.Device:
    return resolve(device)[0]
