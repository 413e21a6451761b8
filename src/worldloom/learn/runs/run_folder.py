"""The folder of a run: its configuration, its metrics, its checkpoints, and room for its curve and its video.

- ``config.json``: the settings it was started with.
- ``metrics.jsonl``: one JSON object per iteration with iteration, steps, seconds and every metric; null where there was no number.
- ``events/``: the same for TensorBoard, over steps.
- ``checkpoints/``: see :mod:`worldloom.learn.runs.checkpoints`.
- ``curve.png`` and ``video.mp4``: what whoever trains draws at the end.

The folder may come from somebody else. Nothing in it is followed that is a symbolic link, and a folder that cannot be resumed is refused
before a byte of it is changed.
"""

from __future__ import annotations

import json
import math
import os
import re
import secrets
import time
import warnings
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import write_error, is_temporary, open_regular, read_file, reject_symlink, write_file
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.config.json_files import as_float, parse_json, read_json
from worldloom.learn.training.progress import Progress

EVENTS_EVERY_S = 0.2
"""TensorBoard gets at most one iteration in this many seconds: an event costs more than a short iteration."""

LOCK = ".lock"
"""The file in a run's folder that is locked by the process that writes there."""
LOCK_WAIT_S = 5.0
"""How long a lock is waited for: a launcher may start a process again while the one before is still ending."""
LAUNCH = ".launch"
"""The file in a run's folder that tells which launch of ``torchrun`` wrote there last."""

CONFIG, METRICS, EVENTS, CHECKPOINTS, CURVE, VIDEO = "config.json", "metrics.jsonl", "events", "checkpoints", "curve.png", "video.mp4"
_TEMPORARY = tuple(f".{Path(name).stem}." for name in (CONFIG, METRICS, CURVE, VIDEO, LAUNCH))
_ALWAYS = ("iteration", "steps", "seconds", "steps_per_second")


class RunFolder:
    """Opens the folder of a run, new or resumed, and writes down its progress. Only one process may have it open, and another is refused.

    Args:
        path: The folder.
        config: What ``config.json`` is to hold.
        resume: Go on with the run that is there.
        keep: How many of the last checkpoints stay.
        launch: What tells the launch of ``torchrun`` that this process belongs to from others; empty without one.
        start: Write into the folder at once. Otherwise :meth:`start` does so later, once what is resumed has proved to fit.

    Attributes:
        path: The folder.
        checkpoints: Its checkpoints.
        resumed_from: With ``resume``: the latest whole checkpoint, None where the run was stopped before it saved one.
        iteration, steps: Where the run goes on; 0 for a new one.
        curve, video: Where the picture and the video of the run belong.
    """

    def __init__(self, path: Path, config: dict[str, Any], resume: bool = False, keep: int = 3, launch: str = "", start: bool = True) -> None:
        self.path = Path(path).expanduser()
        self.checkpoints = Checkpoints(self.path / CHECKPOINTS, keep)
        self.curve, self.video = self.path / CURVE, self.path / VIDEO
        self.resumed_from: Path | None = None
        self.iteration = self.steps = 0
        self._resume, self._launch = resume, launch
        self._metrics: IO[str] | None = None
        self._events: Any = None
        self._unseen: Progress | None = None
        self._last_event = -math.inf
        if resume and not holds_run(self.path):
            raise InputError(f"{self.path} holds no run that could be resumed: it has no config.json")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = _locked(self.path)
        except (OSError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise InputError(f"{self.path} cannot be made a run's folder: {getattr(error, 'strerror', error)}") from None
        try:
            self._config = _config_text(config)
            self._examine()
            if start:
                self.start()
        except BaseException:
            self._lock.close()
            raise

    def _examine(self) -> None:
        """Find out where the run goes on, and refuse a folder that it cannot go on in, before anything is changed."""
        if not self._resume and holds_run(self.path):
            raise InputError(f"{self.path} already holds a run: give --resume to go on with it, or another folder")
        for name in (CONFIG, METRICS, LAUNCH):
            reject_symlink(self.path / name)
        for name in (CHECKPOINTS, EVENTS):
            _refuse_unless_folder(self.path / name)
        if not self._resume:
            for name, there in ((METRICS, (self.path / METRICS).exists()), (CHECKPOINTS, self.checkpoints.any_exist())):
                if there:
                    raise InputError(f"{self.path} has the {name} of a run, but no config.json: put that back to resume the run, or take another folder")
        else:
            found, note = self.checkpoints.find_resumable()
            if found is not None and note is not None:
                try:
                    self.checkpoints.restore_replaced()
                except OSError as error:
                    raise write_error(self.checkpoints.folder, error) from None
                self.resumed_from = self.checkpoints.folder / f"iteration_{note.iteration:08d}"
                self.iteration, self.steps = note.iteration, note.steps

    def start(self) -> None:
        """Begin to write: the configuration, and the metrics up to where the run goes on. Files of killed processes are cleared away."""
        metrics = self.path / METRICS
        kept = _rows_until(metrics, self.iteration)
        try:
            if self._launch:  # first of all, so that a new start finds it however early this one ends
                write_file(self.path / LAUNCH, self._launch)
            else:
                (self.path / LAUNCH).unlink(missing_ok=True)
            if self._resume:
                self.checkpoints.remove_leftovers()
                self.checkpoints.quarantine(self.iteration)
            for path in self.path.iterdir():
                if is_temporary(path.name) and path.name.startswith(_TEMPORARY) and not path.is_dir():
                    path.unlink()
            write_file(self.path / CONFIG, self._config)
            if kept is not None:
                write_file(metrics, kept)
            self._metrics = os.fdopen(open_regular(metrics, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "a", encoding="utf-8")
            self._events = _events(self.path / EVENTS, self.steps + 1 if self._resume else None)
        except OSError as error:
            raise write_error(Path(error.filename or self.path), error) from None

    def write(self, progress: Progress) -> None:
        """Note down one iteration."""
        assert self._metrics is not None, "start() begins to write"
        row = {name: getattr(progress, name) for name in _ALWAYS} | {name: float(value) for name, value in progress.metrics.items()}
        line = json.dumps({name: value if math.isfinite(value) else None for name, value in row.items()}) + "\n"
        try:
            self._metrics.write(line)
            self._metrics.flush()
            self._unseen = progress
            if time.perf_counter() - self._last_event >= EVENTS_EVERY_S:
                self._write_events()
        except OSError as error:
            raise write_error(self.path / METRICS, error, len(line)) from None

    def close(self) -> None:
        """Bring everything to the files and let go of them."""
        if self._lock.closed:
            return
        try:
            self._write_events()
            if self._metrics is not None:
                self._metrics.close()
            if self._events is not None:
                self._events.close()
        except OSError as error:
            raise write_error(self.path / METRICS, error) from None
        finally:
            self._lock.close()

    def __enter__(self) -> RunFolder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        try:
            self.close()
        except InputError:
            if error is None:
                raise  # otherwise the first error says what is wrong

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
    return (Path(path).expanduser() / CONFIG).is_file()


def launched_by(path: Path) -> str:
    """Which launch of a launcher wrote into folder ``path`` last; empty for none."""
    try:
        return read_file(Path(path).expanduser() / LAUNCH, 4096).decode("utf-8")
    except (OSError, ValueError):
        return ""


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
    file = Path(path).expanduser() / CONFIG
    try:
        config = read_json(file)
    except FileNotFoundError:
        raise InputError(f"{path} holds no run: it has no config.json") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
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
    file = file / METRICS if file.is_dir() else file
    if not file.is_file():
        raise InputError(f"there are no metrics in {path}: no file {file.name}")
    return [{name: math.nan if value is None else value for name, value in row.items()} for _, row in _rows(file)]


def _locked(folder: Path) -> IO[str]:
    """The open file whose lock keeps other processes out of a run's folder. It goes when the file is closed, also by the end of the process."""
    try:
        file = os.fdopen(open_regular(folder / LOCK, os.O_RDWR | os.O_CREAT), "r+", encoding="utf-8")
    except OSError as error:
        raise OSError(error.errno, f"{LOCK} cannot be opened ({error.strerror})") from None
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


def _rows(file: Path) -> list[tuple[bytes, dict[str, float | None]]]:
    """Every whole line, with the object it holds: numbers by name, None where there was none."""
    try:
        lines = read_file(file).split(b"\n")
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    found: list[tuple[bytes, dict[str, float | None]]] = []
    for number, line in enumerate(lines[:-1], start=1):  # what follows the last line break is half a line, or nothing
        try:
            row = parse_json(line)
            if not isinstance(row, dict) or type(row.get("iteration")) is not int:
                raise ValueError("no object with an iteration")
            for value in row.values():
                if value is not None:
                    as_float(value)
        except ValueError as error:
            if number == len(lines) - 1:
                break
            raise InputError(f"{file}, line {number}, is no row of metrics ({error}): take the line out") from None
        found.append((line, row))
    return found


def _rows_until(file: Path, iteration: int) -> bytes | None:
    """The lines of ``file`` up to ``iteration``, without half a last line; None where there is no file."""
    if not os.path.lexists(file):
        return None
    return b"".join(line + b"\n" for line, row in _rows(file) if (row["iteration"] or 0) <= iteration)


def _config_text(config: dict[str, Any]) -> str:
    try:
        return json.dumps(config, indent=2) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the configuration of a run must be what JSON can hold: {error}") from None


def _refuse_unless_folder(path: Path) -> None:
    """InputError where ``path`` exists and is no folder of its own; a symbolic link would lead out of the run's folder."""
    if path.is_symlink():
        raise InputError(f"{path} is a symbolic link, which a run's folder must not have: put what it points to in its place, or remove it")
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is no folder, and a run needs one there: move it away")


def _events(folder: Path, purge_step: int | None) -> Any:
    """TensorBoard's writer, or None where it is not installed."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        warnings.warn("no TensorBoard events are written: pip install tensorboard adds them", stacklevel=3)
        return None
    # A random part in the name of its file: nobody can have put a link in its place.
    return SummaryWriter(str(folder), purge_step=purge_step, filename_suffix=f".{secrets.token_hex(8)}")
