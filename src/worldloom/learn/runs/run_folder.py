"""The folder of a run.

- ``config.json``: the settings it was started with.
- ``world.json``: the rules of its world, versions of worldloom and of files, and changes of rules that were allowed;
  a record for people, since every checkpoint holds the same.
- ``metrics.jsonl``: one JSON object per iteration with iteration, steps, seconds and every metric; null for no value.
- ``events/``: the same for TensorBoard, over steps.
- ``checkpoints/``: see :mod:`worldloom.learn.runs.checkpoints`.
- ``opponents/``: copies of the policies of other runs that it trains against, see
  :mod:`worldloom.learn.runs.saved_policies`.
- ``trackers.json``: the ids of the run in experiment trackers, see :mod:`worldloom.learn.tracking`.
- ``curve.png`` and ``video.mp4``: the learning curve and a video, which the command line adds at the end.

The folder may come from an untrusted source. Symbolic links in it are not followed, and a folder that cannot be
resumed is refused before a byte of it is changed.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from worldloom.core.base.errors import InputError, StorageError
from worldloom.core.base.files import is_temporary, open_regular, read_file, reject_symlink, write_error, write_file
from worldloom.core.base.paths import expand_home
from worldloom.learn.config.json_files import read_json
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.event_files import open_events
from worldloom.learn.runs.metrics_file import METRICS, PROGRESS_FIELDS, read_rows, rows_until
from worldloom.learn.training.progress import Progress, tracked_scalars

EVENTS_EVERY_S = 0.2
"""Minimum interval of TensorBoard events: an event costs more than a short iteration."""

LOCK = ".lock"
"""The file in a run's folder that the writing process locks."""
LOCK_WAIT_S = 5.0
"""How long to wait for the lock: a launcher may restart a process while the previous one is still ending."""
LAUNCH = ".launch"
"""The file in a run's folder with the id of the last launch of ``torchrun`` that wrote there."""

CONFIG, EVENTS, CHECKPOINTS, CURVE, VIDEO = "config.json", "events", "checkpoints", "curve.png", "video.mp4"
OPPONENTS, TRACKER_FILES, WORLD = "opponents", "wandb", "world.json"
SEEDS = "seeds.json"
"""The file in a folder whose subfolders are the runs of several seeds; see :mod:`worldloom.learn.experiments`."""
SWEEP, POPULATION = "sweep.json", "population.json"
"""The same for the trials of a sweep, and for the members of a population."""
EXPERIMENTS = {
    SEEDS: "the runs of several seeds: name one of its folders seed_*",
    SWEEP: "the trials of a sweep: name one of its folders trial_*",
    POPULATION: "the members of a population: name one of its folders member_*",
}
"""What a folder with one of these files holds, for error messages."""
_TEMPORARY = tuple(f".{Path(name).stem}." for name in (CONFIG, METRICS, CURVE, VIDEO, LAUNCH, WORLD))


class RunFolder:
    """Opens the folder of a run, new or resumed, and records its progress. Only one process may have it open.

    Args:
        path: The folder.
        config: The content of ``config.json``.
        resume: Continue the run in the folder.
        keep: How many of the last checkpoints to keep.
        launch: The id of the launch of ``torchrun`` that this process belongs to; empty without one.
        start: Write into the folder at once. Otherwise call :meth:`start` later, once the checkpoint is loaded.

    Attributes:
        path: The folder.
        checkpoints: Its checkpoints.
        resumed_from: With ``resume``: the latest intact checkpoint; None where the run stopped before it saved one.
        iteration, steps: Where the run continues; 0 for a new one.
        curve, video: The paths of the learning curve and the video.
    """

    def __init__(
        self,
        path: Path,
        config: dict[str, Any],
        resume: bool = False,
        keep: int = 3,
        launch: str = "",
        start: bool = True,
    ) -> None:
        self.path = expand_home(path)
        self.checkpoints = Checkpoints(self.path / CHECKPOINTS, keep)
        self.curve, self.video = self.path / CURVE, self.path / VIDEO
        self.resumed_from: Path | None = None
        self.iteration = self.steps = 0
        self._resume, self._launch = resume, launch
        self._metrics: IO[str] | None = None
        self._events: Any = None
        self._pending_event: Progress | None = None
        self._last_event = -math.inf
        if resume and not holds_run(self.path):
            raise InputError(f"{self.path} holds no run that could be resumed: it has no config.json")
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock = locked(self.path)
        except (OSError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            raise StorageError(
                f"{self.path} cannot be used as a run's folder: {getattr(error, 'strerror', error)}"
            ) from None
        try:
            self._config = _config_text(config)
            self._examine()
            if start:
                self.start()
        except BaseException:
            self._lock.close()
            raise

    def _examine(self) -> None:
        """Find where the run continues, and refuse a folder that cannot be used, before anything is changed."""
        if not self._resume and holds_run(self.path):
            raise InputError(f"{self.path} already holds a run: give --resume to continue it, or another folder")
        for name in (CONFIG, METRICS, LAUNCH, WORLD):
            reject_symlink(self.path / name)
        for name in (CHECKPOINTS, EVENTS, OPPONENTS, TRACKER_FILES):
            _refuse_unless_folder(self.path / name)
        if not self._resume:
            for name, exists in (
                (METRICS, (self.path / METRICS).exists()),
                (CHECKPOINTS, self.checkpoints.any_exist()),
            ):
                if exists:
                    raise InputError(
                        f"{self.path} has the {name} of a run, but no config.json: "
                        "restore it to resume the run, or use another folder"
                    )
        else:
            checkpoint, metadata = self.checkpoints.find_resumable()
            if checkpoint is not None and metadata is not None:
                try:
                    self.checkpoints.restore_replaced()
                except OSError as error:
                    raise write_error(self.checkpoints.folder, error) from None
                self.resumed_from = self.checkpoints.folder / f"iteration_{metadata.iteration:08d}"
                self.iteration, self.steps = metadata.iteration, metadata.steps

    def start(self) -> None:
        """Write the configuration, and the metrics up to where the run continues. Removes leftovers of killed runs."""
        metrics = self.path / METRICS
        rows = rows_until(metrics, self.iteration)
        try:
            if self._launch:  # first, so that a restart finds it however early this process ends
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
            if rows is not None:
                write_file(metrics, rows)
            self._metrics = os.fdopen(
                open_regular(metrics, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "a", encoding="utf-8"
            )
            self._events = open_events(self.path / EVENTS, self.steps + 1 if self._resume else None)
        except OSError as error:
            raise write_error(Path(error.filename or self.path), error) from None

    def write_world(self, world: Mapping[str, Any]) -> None:
        """Record the rules of the world, see :class:`~worldloom.learn.training.world_history.WorldHistory`."""
        try:
            write_file(self.path / WORLD, json.dumps(world, indent=2) + "\n")
        except OSError as error:
            raise write_error(self.path / WORLD, error) from None

    def write(self, progress: Progress) -> None:
        """Record one iteration."""
        assert self._metrics is not None, "call start() first"
        row = {name: getattr(progress, name) for name in PROGRESS_FIELDS} | {
            name: float(value) for name, value in progress.metrics.items()
        }
        line = json.dumps({name: value if math.isfinite(value) else None for name, value in row.items()}) + "\n"
        try:
            self._metrics.write(line)
            self._metrics.flush()
            self._pending_event = progress
            if time.perf_counter() - self._last_event >= EVENTS_EVERY_S:
                self._write_events()
        except OSError as error:
            raise write_error(self.path / METRICS, error, len(line)) from None

    def close(self) -> None:
        """Flush and close all files."""
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

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self.close()
        except InputError:
            if error is None:
                raise  # otherwise the first error is the cause

    def _write_events(self) -> None:
        progress, self._pending_event, self._last_event = self._pending_event, None, time.perf_counter()
        if progress is None or self._events is None:
            return
        for name, value in tracked_scalars(progress).items():
            self._events.add_scalar(name, value, progress.steps)


def holds_run(path: Path) -> bool:
    """Whether a run was started in folder ``path``."""
    return (Path(path).expanduser() / CONFIG).is_file()


def launched_by(path: Path) -> str:
    """The id of the launch that wrote into folder ``path`` last; empty for none."""
    try:
        return read_file(Path(path).expanduser() / LAUNCH, 4096).decode("utf-8")
    except (OSError, ValueError):
        return ""


def default_folder(world: str, algorithm: str, seed: int | str | None, root: Path = Path("runs")) -> Path:
    """Make and return ``runs/<world>-<algorithm>-s<seed>-<n>`` with the first free n from 1.

    For several seeds, None, it is ``runs/<world>-<algorithm>-seeds-<n>``, and a word such as ``sweep`` stands for
    itself. It is made at once, so that two runs that start together get different folders.
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
    numbered = [
        (int(path.name[len(stem) + 1 :]), path)
        for path in root.glob(f"{stem}-*")
        if path.name[len(stem) + 1 :].isdigit()
    ]
    return max(numbered)[1] if numbered else None


def _stem(world: str, algorithm: str, seed: int | str | None) -> str:
    kind = f"s{seed}" if isinstance(seed, int) else seed or "seeds"
    return re.sub(r"[^\w.+-]+", "_", f"{world}-{algorithm}-{kind}")


def read_config(path: Path) -> dict[str, Any]:
    """The configuration of the run in folder ``path``."""
    file = expand_home(path) / CONFIG
    try:
        config = read_json(file)
    except FileNotFoundError:
        for name, description in EXPERIMENTS.items():
            if (file.parent / name).is_file():
                raise InputError(f"{path} holds {description}") from None
        raise InputError(f"{path} holds no run: it has no config.json") from None
    except NotADirectoryError:
        folder = Path(path).parent
        other = "is a file: name a run's folder, or a file of policies, of `worldloom export --to policies`"
        hint = f"is a file of a run: name its folder, {folder}" if holds_run(folder) else other
        raise InputError(f"{path} {hint}") from None
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise InputError(f"{file} is not a complete JSON document: {error}") from None
    if not isinstance(config, dict):
        raise InputError(f"{file} does not hold a JSON object: it was not written by a run")
    return config


def read_metrics(path: Path) -> list[dict[str, float]]:
    """Every iteration of a run, from its folder or from its ``metrics.jsonl``; NaN where there was no value.

    An unfinished last line, as a killed run leaves it, is dropped.
    """
    file = expand_home(path)
    file = file / METRICS if file.is_dir() else file
    if not file.is_file():
        raise InputError(f"there are no metrics in {path}: no file {file.name}")
    return [{name: math.nan if value is None else value for name, value in row.items()} for _, row in read_rows(file)]


def locked(folder: Path) -> IO[str]:
    """The open file whose lock keeps other processes out of a run's folder. Closing the file releases the lock."""
    try:
        file = os.fdopen(open_regular(folder / LOCK, os.O_RDWR | os.O_CREAT), "r+", encoding="utf-8")
    except OSError as error:
        raise OSError(error.errno, f"{LOCK} cannot be opened ({error.strerror})") from None
    try:
        import fcntl
    except ImportError:  # a platform without file locks
        return file
    end = time.monotonic() + LOCK_WAIT_S
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                file.close()
                raise StorageError(
                    f"another process is training in {folder}: wait until it ends, or use another --run-dir"
                ) from None
            time.sleep(0.05)
        except OSError:  # a file system without locks
            return file
        else:
            return file


def refuse_running_experiment(path: Path) -> None:
    """InputError where another process trains the seeds, trials or members that the folder of a run belongs to."""
    for folder in expand_home(path).absolute().parents[:2]:  # a trial may have several seeds
        if any((folder / name).is_file() for name in EXPERIMENTS):
            with contextlib.suppress(OSError):  # the folder cannot be written
                locked(folder).close()


def _config_text(config: dict[str, Any]) -> str:
    try:
        return json.dumps(config, indent=2) + "\n"
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"the configuration of a run must be what JSON can hold: {error}") from None


def reject_link(path: Path) -> None:
    """InputError where ``path`` is a symbolic link, which could lead out of the run's folder."""
    if path.is_symlink():
        raise InputError(
            f"{path} is a symbolic link, which a run's folder must not have: "
            "replace it by what it points to, or remove it"
        )


def _refuse_unless_folder(path: Path) -> None:
    """InputError where ``path`` exists and is not a real folder."""
    reject_link(path)
    if path.exists() and not path.is_dir():
        raise InputError(f"{path} is not a folder, and a run needs a folder there: move it away")
