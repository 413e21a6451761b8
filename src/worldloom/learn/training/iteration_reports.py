"""Metrics and timings of iterations, copied to the host without a device synchronization."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from itertools import pairwise

import torch

PHASES = ("roll-out", "update")


@dataclass(frozen=True)
class IterationReport:
    """The numbers of one iteration.

    Attributes:
        iteration, steps: Iterations and steps done.
        numbers: The numbers that were sent.
        seconds: Device time by phase.
    """

    iteration: int
    steps: int
    numbers: list[float]
    seconds: dict[str, float]


class IterationReports:
    """Copies numbers from the device to the host asynchronously.

    The host runs at most ``ahead`` iterations ahead of a GPU.
    """

    def __init__(self, device: torch.device, ahead: int = 2) -> None:
        self.device, self.ahead = device, ahead
        self._marks: list[torch.cuda.Event | float] = []
        self._sent: deque[tuple[int, int, torch.Tensor, list[torch.cuda.Event | float]]] = deque()

    def mark(self) -> None:
        """Mark the start of a phase, or the end of the last one."""
        if self.device.type == "cuda":
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self._marks.append(event)
        else:
            self._marks.append(time.perf_counter())

    def send(self, iteration: int, steps: int, numbers: torch.Tensor) -> None:
        """Start the copy of ``numbers``, shape (n,)."""
        host = numbers
        if self.device.type == "cuda":
            host = torch.empty(numbers.shape, dtype=numbers.dtype, pin_memory=True)
            host.copy_(numbers, non_blocking=True)
        else:
            host = numbers.clone()
        self.mark()
        self._sent.append((iteration, steps, host, self._marks))
        self._marks = []

    def arrived(self, everything: bool = False) -> list[IterationReport]:
        """Reports that have arrived since the last call; ``everything`` waits for the rest."""
        reports = []
        while self._sent:
            iteration, steps, host, marks = self._sent[0]
            last = marks[-1]
            if isinstance(last, torch.cuda.Event) and not last.query():
                if not everything and len(self._sent) <= self.ahead:
                    break
                last.synchronize()
            self._sent.popleft()
            spans = [_between(a, b) for a, b in pairwise(marks)]
            reports.append(IterationReport(iteration, steps, host.tolist(), dict(zip(PHASES, spans, strict=False))))
        return reports


def _between(first: torch.cuda.Event | float, second: torch.cuda.Event | float) -> float:
    """Seconds between two marks."""
    if isinstance(first, float) or isinstance(second, float):
        return float(second) - float(first)  # type: ignore[arg-type]
    return float(first.elapsed_time(second)) / 1000.0
