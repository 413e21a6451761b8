"""Memory estimates: the bytes that worlds need and the bytes that a device has free, compared before allocation."""

from __future__ import annotations

import gc
import math
import os
from collections.abc import Collection
from pathlib import Path

import numpy as np
import warp as wp

from worldloom.core.base.errors import InputError
from worldloom.core.model.dtypes import SCALARS, scalar_of
from worldloom.core.model.fields import Field
from worldloom.core.schedule.entries import Schedule

_CGROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)


def size_of(field: Field) -> int:
    """Bytes of one row of a component."""
    return math.prod(field.value_shape) * int(np.dtype(SCALARS[scalar_of(field.dtype)]).itemsize)


def bytes_needed(schedule: Schedule, num_worlds: int, external: Collection[str] = ()) -> int:
    """Bytes of all columns of ``num_worlds`` worlds, without those with ``external`` memory, named ``Table.name``."""
    total, shared = 0, {*schedule.aliases, *schedule.counts.aliased_columns}
    for name, view in schedule.tables.items():
        rows = schedule.counts.pooled(name) or num_worlds * schedule.counts[name]
        for field in view.fields.values():
            if not field.batch_wide and (name, field.name) not in shared and f"{name}.{field.name}" not in external:
                total += rows * size_of(field)
    return total


def bytes_available(device: wp.Device) -> int | None:
    """Free bytes of a device; None where they are not known."""
    if device.is_cuda:
        return int(device.free_memory)
    sizes = [size for size in (_machine_free(), *(_cgroup_free(*files) for files in _CGROUPS)) if size is not None]
    return min(sizes, default=None)


def _machine_free() -> int | None:
    """Available memory and free swap on Linux; elsewhere the total memory."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        sizes = {name: int(rest.split()[0]) << 10 for name, _, rest in (line.partition(":") for line in lines)}
        return sizes["MemAvailable"] + sizes["SwapFree"]
    except (OSError, ValueError, KeyError, IndexError):
        pass
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None


def _cgroup_free(limit: str, used: str) -> int | None:
    """Free bytes of the container's cgroup, page cache included; None where there is no cgroup, or no limit."""
    try:
        total, current = int(Path(limit).read_text()), int(Path(used).read_text())
        stat = dict(line.split() for line in (Path(used).parent / "memory.stat").read_text().splitlines())
        return max(0, total - current + int(stat.get("file", stat.get("cache", 0))))
    except (OSError, ValueError):
        return None


def require_bytes(size: int, device: wp.Device, what: str, remedy: str = "use fewer worlds") -> None:
    """InputError with both sizes where ``what`` needs more memory than a device has free."""
    available = bytes_available(device)
    if available is not None and size > available and device.is_cuda:
        gc.collect()
        wp.synchronize_device(device)  # returns freed memory to the driver
        available = bytes_available(device)
    if available is not None and size > available:
        needed = f"{what} need {format_bytes(size)} of memory on {device.alias}"
        raise InputError(f"{needed}, and {format_bytes(available)} are available: {remedy}")


def format_bytes(size: int) -> str:
    """A size in readable units: ``1.5 GiB``."""
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 else f"{size / 2**20:,.1f} MiB"
