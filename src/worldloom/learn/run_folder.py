"""The folder of a run: its configuration, its metrics, its checkpoints, and room for its curve and its video.

- ``config.json``: the settings it was started with.
- ``metrics.jsonl``: one JSON object per iteration with iteration, steps, seconds and every metric; null where there was no number.
- ``events/``: the same for TensorBoard, over steps.
- ``checkpoints/``: see :mod:`worldloom.learn.checkpoints`.
- ``curve.png`` and ``video.mp4``: what whoever trains draws at the end.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
import warnings
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from worldloom.core.errors import InputError
from worldloom.learn.checkpoints import Checkpoints, note_of
from worldloom.learn.progress import Progress

EVENTS_EVERY_S = 0.2
"""TensorBoard gets at most one iteration in this many seconds: an event costs more than a short iteration."""

LOCK = ".lock"
"""The file in a run's folder that is locked by the process that writes there."""
LOCK_WAIT_S = 5.0
"""How long a lock is waited for: a launcher may start a process again while the one before is still ending."""
LAUNCH = ".launch"
"""The file in a run's folder that tells which launch of ``torchrun`` wrote there last."""

_ALWAYS = ("iteration", "steps", "seconds", "steps_per_second")


class RunFolder:
    """Opens the folder of a run, new or resumed, and writes down its progress. Only one process may have it open, and another is refused.

    Args:
        path: The folder.
        config: What ``config.json`` is to hold.
        resume: Go on with the run that is there.
        keep: How many of the last checkpoints stay.
        launch: What tells the launch of ``torchrun`` that this process belongs to from others; empty without one.

    Attributes:
        path: The folder.
        checkpoints: Its checkpoints.
        resumed_from: With ``resume``: the latest whole checkpoint, None where the run was stopped before it saved one.
        iteration, steps: Where the run goes on; 0 for a new one.
        curve, video: Where the picture and the video of the run belong.
    """

    def __init__(self, path: Path, config: dict[str, Any], resume: bool = False, keep: int = 3, launch: str = "") -> None:
        self.path = Path(path).expanduser()
        if resume and not holds_run(self.path):
            raise InputError(f"{self.path} holds no run that could be resumed: it has no config.json")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(self.path)
        except OSError as error:
            raise InputError(f"{self.path} cannot be made a run's folder: {error.strerror}") from None
        try:
            self._begin(config, resume, keep, launch)
        except BaseException:
            self._lock.close()
            raise

    def _begin(self, config: dict[str, Any], resume: bool, keep: int, launch: str) -> None:
        if not resume and holds_run(self.path):
            raise InputError(f"{self.path} already holds a run: give --resume to go on with it, or another folder")
        if launch:  # first of all, so that a new start finds it however early this one ends
            (self.path / LAUNCH).write_text(launch, encoding="utf-8")
        else:
            (self.path / LAUNCH).unlink(missing_ok=True)
        self.checkpoints = Checkpoints(self.path / "checkpoints", keep)
        self.curve, self.video = self.path / "curve.png", self.path / "video.mp4"
        self.resumed_from: Path | None = None
        self.iteration = self.steps = 0
        if resume:
            self.checkpoints.sweep()
            self.resumed_from = self.checkpoints.latest()
        if self.resumed_from is not None:
            note = note_of(self.resumed_from)
            self.iteration, self.steps = note.iteration, note.steps
        self._write_config(config)
        _cut(self.path / "metrics.jsonl", self.iteration)
        self._metrics = open(self.path / "metrics.jsonl", "a", encoding="utf-8")  # noqa: SIM115 - open as long as the run
        self._events = _events(self.path / "events", self.steps + 1 if resume else None)
        self._unseen: Progress | None = None
        self._last_event = -math.inf

    def write(self, progress: Progress) -> None:
        """Note down one iteration."""
        row = {name: getattr(progress, name) for name in _ALWAYS} | {name: float(value) for name, value in progress.metrics.items()}
        self._metrics.write(json.dumps({name: value if math.isfinite(value) else None for name, value in row.items()}) + "\n")
        self._metrics.flush()
        self._unseen = progress
        if time.perf_counter() - self._last_event >= EVENTS_EVERY_S:
            self._write_events()

    def close(self) -> None:
        """Bring everything to the files and let go of them."""
        if self._metrics.closed:
            return
        try:
            self._write_events()
            self._metrics.close()
            if self._events is not None:
                self._events.close()
        finally:
            self._lock.close()

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _write_config(self, config: dict[str, Any]) -> None:
        try:
            text = json.dumps(config, indent=2)
        except (TypeError, ValueError) as error:
            raise InputError(f"the configuration of a run must be what JSON can hold: {error}") from None
        _replace(self.path / "config.json", text + "\n")

    def _write_events(self) -> None:
        progress, self._unseen, self._last_event = self._unseen, None, time.perf_counter()
        if progress is None or self._events is None:
            return
        for name, value in progress.metrics.items():
            if math.isfinite(value):
                self._events.add_scalar(name, value, progress.steps)
        self._events.add_scalar("time/steps_per_second", progress.steps_per_second, progress.steps)
        for phase, share in progress.shares.items():
            self._events.add_scalar(f"time/share_{phase}", share, progress.steps)


def holds_run(path: Path) -> bool:
    """Whether a run was started in folder ``path``."""
    return (Path(path).expanduser() / "config.json").is_file()


def launched_by(path: Path) -> str:
    """Which launch of a launcher wrote into folder ``path`` last; empty for none."""
    file = Path(path).expanduser() / LAUNCH
    return file.read_text(encoding="utf-8") if file.is_file() else ""


def default_folder(world: str, algorithm: str, seed: int, root: Path = Path("runs")) -> Path:
    """Make ``runs/<world>-<algorithm>-s<seed>-<n>`` with the first n from 1 that is free, and return it.

    Making it at once keeps two runs that start together apart.
    """
    stem = _stem(world, algorithm, seed)
    root.mkdir(parents=True, exist_ok=True)
    n = 1
    while True:
        try:
            (root / f"{stem}-{n}").mkdir()
        except FileExistsError:
            n += 1
        else:
            return root / f"{stem}-{n}"


def last_default_folder(world: str, algorithm: str, seed: int, root: Path = Path("runs")) -> Path | None:
    """The last folder that :func:`default_folder` made for this world, algorithm and seed; None where there is none."""
    stem = _stem(world, algorithm, seed)
    found = [(int(path.name[len(stem) + 1 :]), path) for path in root.glob(f"{stem}-*") if path.name[len(stem) + 1 :].isdigit()]
    return max(found)[1] if found else None


def _stem(world: str, algorithm: str, seed: int) -> str:
    return re.sub(r"[^\w.+-]+", "_", f"{world}-{algorithm}-s{seed}")


def read_config(path: Path) -> dict[str, Any]:
    """The configuration of the run in folder ``path``."""
    file = Path(path).expanduser() / "config.json"
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except OSError:
        raise InputError(f"{path} holds no run: it has no config.json") from None
    except ValueError as error:
        raise InputError(f"{file} is no whole JSON document: {error}") from None
    if not isinstance(config, dict):
        raise InputError(f"{file} holds no JSON object: it was not written by a run")
    return config


def read_metrics(path: Path) -> list[dict[str, float]]:
    """Every iteration of a run, from its folder or from its ``metrics.jsonl``; NaN where there was no number.

    A half-written last line, as a killed run leaves it, is left out.
    """
    file = Path(path).expanduser()
    file = file / "metrics.jsonl" if file.is_dir() else file
    if not file.is_file():
        raise InputError(f"there are no metrics in {path}: no file {file.name}")
    return [{name: math.nan if value is None else value for name, value in row.items()} for _, row in _rows(file)]


def _locked(folder: Path) -> IO[str]:
    """The open file whose lock keeps other processes out of a run's folder. It goes when the file is closed, also by the end of the process."""
    file = open(folder / LOCK, "a", encoding="utf-8")  # noqa: SIM115 - open as long as the run
    try:
        import fcntl
    except ImportError:  # a system without such locks
        return file
    end = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                file.close()
                raise InputError(f"{folder} is being trained in by another process: wait for its end, or take another --run-dir") from None
            time.sleep(0.05)
        except OSError:  # a file system without locks
            return file
        else:
            return file


def _rows(file: Path) -> list[tuple[bytes, dict[str, Any]]]:
    """Every whole line, with the object it holds."""
    lines = file.read_bytes().split(b"\n")
    found: list[tuple[bytes, dict[str, Any]]] = []
    for number, line in enumerate(lines[:-1], start=1):  # what follows the last line break is half a line, or nothing
        try:
            row = json.loads(line)
            if not isinstance(row, dict) or not isinstance(row.get("iteration"), int):
                raise ValueError("no object with an iteration")
        except ValueError as error:
            if number == len(lines) - 1:
                break
            raise InputError(f"{file}, line {number}, is no row of metrics ({error}): take the line out") from None
        found.append((line, row))
    return found


def _cut(file: Path, iteration: int) -> None:
    """Drop the rows after ``iteration``, and half a last line."""
    if file.exists():
        kept = [line for line, row in _rows(file) if row["iteration"] <= iteration]
        _replace(file, b"".join(line + b"\n" for line in kept).decode("utf-8"))


def _replace(file: Path, text: str) -> None:
    """Write a file so that it is always the old one or the new one, never a part."""
    new = file.with_name(f".{file.name}.writing")
    with open(new, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(new, file)


def _events(folder: Path, purge_step: int | None) -> Any:
    """TensorBoard's writer, or None where it is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        warnings.warn("no TensorBoard events are written: pip install tensorboard adds them", stacklevel=3)
        return None
    return SummaryWriter(str(folder), purge_step=purge_step)
