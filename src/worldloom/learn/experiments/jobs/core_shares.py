"""Equal shares of the CPU cores for processes side by side."""

from __future__ import annotations

import os


def core_shares(parts: int) -> list[list[int]]:
    """The CPU cores of this process in ``parts`` equal shares; the same core in several where there are too few."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if not cores:
        return [[] for _ in range(parts)]
    edges = [len(cores) * part // parts for part in range(parts + 1)]
    return [cores[edges[p] : edges[p + 1]] or [cores[p % len(cores)]] for p in range(parts)]
