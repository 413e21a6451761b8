"""What tuning has found, on disk: one small file per kernel and GPU, beside the compiled kernels."""

from __future__ import annotations

import json
import math
import tempfile
import warnings
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import warp as wp

from worldloom.core.base.files import write_error, write_file

FORMAT = 1
MAX_THREAD_RATIO = 16
"""A result counts for as many threads as it was measured with, and for up to this many times more or fewer."""


@dataclass(frozen=True)
class TunedConfig:
    """The best setting of one kernel for about one number of threads.

    Attributes:
        threads: Threads of the launch that was measured.
        block: Threads per block.
        registers: The most registers per thread; None leaves it to the compiler.
        seconds_before, seconds_after: Time of a launch as everybody gets it, and with this setting.
    """

    threads: int
    block: int
    registers: int | None
    seconds_before: float
    seconds_after: float


def folder() -> Path:
    """Where results are kept."""
    return Path(wp.config.kernel_cache_dir or tempfile.gettempdir()) / "worldloom_tuning"


def find(key: str, threads: int) -> TunedConfig | None:
    """The result that was measured nearest to ``threads`` threads, or None where there is none near enough."""
    near = [entry for entry in load(key) if threads / MAX_THREAD_RATIO <= entry.threads <= threads * MAX_THREAD_RATIO]
    return min(near, key=lambda entry: abs(math.log(entry.threads / threads)), default=None)


def load(key: str) -> list[TunedConfig]:
    """Every result of a kernel. A file that is spoilt is ignored, with a warning."""
    path = folder() / f"{key}.json"
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
    found = [_entry(item) for item in data["settings"]]
    if any(entry is None for entry in found):
        _warn(path, "a setting in it cannot be")
        return []
    return [entry for entry in found if entry is not None]


def store(key: str, entry: TunedConfig, about: dict[str, Any]) -> None:
    """Keep a result in the place of an older one for as many threads. The file is whole or as it was, whoever else writes.

    Args:
        key: The kernel and the GPU.
        entry: The result.
        about: What people may want to know of the kernel.
    """
    entries = [old for old in load(key) if old.threads != entry.threads] + [entry]
    data = {"format": FORMAT, **about, "settings": [asdict(e) for e in sorted(entries, key=lambda e: e.threads)]}
    path = folder() / f"{key}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise write_error(path, error) from None
    write_file(path, json.dumps(data, indent=1))


def _entry(item: Any) -> TunedConfig | None:
    """One result, or None where a number in it is none that tuning writes."""
    if not isinstance(item, dict) or set(item) != set(TunedConfig.__dataclass_fields__):
        return None
    threads, block, registers = item["threads"], item["block"], item["registers"]
    whole = all(
        isinstance(n, int) and not isinstance(n, bool) for n in (threads, block, 1 if registers is None else registers)
    )
    if not whole or threads < 1 or not 1 <= block <= 1024 or not (registers is None or 16 <= registers <= 255):
        return None
    times = item["seconds_before"], item["seconds_after"]
    if not all(
        isinstance(t, (int, float)) and not isinstance(t, bool) and math.isfinite(t) and t >= 0.0 for t in times
    ):
        return None
    return TunedConfig(**item)


def _warn(path: Path, problem: str) -> None:
    warnings.warn(f"the tuning kept in {path} is ignored: {problem}; `worldloom tune` writes it anew", stacklevel=4)
