"""Results of tuning on disk: one small file per kernel and GPU, beside the compiled kernels."""

from __future__ import annotations

import json
import math
import tempfile
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import warp as wp

from worldloom.core.base.caches.trusted_files import make_folder, refuse_other_writers, untrusted_reason
from worldloom.core.base.files import write_error, write_file

FORMAT = 1
MAX_THREAD_RATIO = 16
"""A result is valid for the number of threads it was measured with, and for up to this factor more or fewer."""


@dataclass(frozen=True)
class TunedConfig:
    """The best setting of one kernel for about one number of threads.

    Attributes:
        threads: Threads of the measured launch.
        block: Threads per block.
        registers: Maximum number of registers per thread; None for the compiler's choice.
        seconds_before, seconds_after: Time of a launch with the default setting, and with this one.
    """

    threads: int
    block: int
    registers: int | None
    seconds_before: float
    seconds_after: float


def folder() -> Path:
    """The folder of the results."""
    return Path(wp.config.kernel_cache_dir or tempfile.gettempdir()) / "worldloom_tuning"


def find(key: str, threads: int) -> TunedConfig | None:
    """The result with the number of threads nearest to ``threads``; None where none is near enough."""
    near = [entry for entry in load(key) if threads / MAX_THREAD_RATIO <= entry.threads <= threads * MAX_THREAD_RATIO]
    return min(near, key=lambda entry: abs(math.log(entry.threads / threads)), default=None)


def load(key: str) -> list[TunedConfig]:
    """All results of a kernel. A damaged file is ignored with a warning."""
    path = folder() / f"{key}.json"
    for part in (path.parent.parent, path.parent, path):
        if path.exists() and (reason := untrusted_reason(part)) is not None:
            _warn(path, reason)
            return []
    try:
        text = path.read_text()
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, UnicodeDecodeError) as error:
        _warn(path, str(error))
        return []
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        _warn(path, "it holds no JSON")
        return []
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get("settings"), list):
        _warn(path, f"it is not of format {FORMAT}")
        return []
    entries = [_entry(item) for item in data["settings"]]
    if any(entry is None for entry in entries):
        _warn(path, "it holds an invalid setting")
        return []
    return [entry for entry in entries if entry is not None]


def store(key: str, entry: TunedConfig, about: dict[str, Any]) -> None:
    """Store a result; it replaces an older one for the same number of threads. The write is atomic.

    Args:
        key: The kernel and the GPU.
        entry: The result.
        about: Information about the kernel for readers of the file.
    """
    entries = [old for old in load(key) if old.threads != entry.threads] + [entry]
    data = {"format": FORMAT, **about, "settings": [asdict(e) for e in sorted(entries, key=lambda e: e.threads)]}
    path = folder() / f"{key}.json"
    try:
        make_folder(path.parent)
    except OSError as error:
        raise write_error(path, error) from None
    write_file(path, json.dumps(data, indent=1))
    refuse_other_writers(path)


def _entry(item: Any) -> TunedConfig | None:
    """One result; None where it holds a number that tuning never writes."""
    if not isinstance(item, dict) or set(item) != set(TunedConfig.__dataclass_fields__):
        return None
    threads, block, registers = item["threads"], item["block"], item["registers"]
    numbers = (threads, block, 1 if registers is None else registers)
    integers = all(isinstance(number, int) and not isinstance(number, bool) for number in numbers)
    if not integers or threads < 1 or not 1 <= block <= 1024 or not (registers is None or 16 <= registers <= 255):
        return None
    times = item["seconds_before"], item["seconds_after"]
    if any(isinstance(t, bool) or not isinstance(t, (int, float)) or not math.isfinite(t) or t < 0.0 for t in times):
        return None
    return TunedConfig(**item)


def _warn(path: Path, problem: str) -> None:
    warnings.warn(f"the tuning kept in {path} is ignored: {problem}; `worldloom tune` replaces it", stacklevel=4)
