"""What the host learns of an iteration: a few numbers that leave the device without anybody waiting for them, and where the time went."""

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
        iteration, steps: When they were taken.
        numbers: As they were sent.
        seconds: Time by phase, on the device.
    """

    iteration: int
    steps: int
    numbers: list[float]
    seconds: dict[str, float]


class IterationReports:
    """Sends numbers from the device, and hands them out once they have arrived. The host stays at most ``ahead`` iterations ahead of a GPU."""

    def __init__(self, device: torch.device, ahead: int = 2) -> None:
        self.device, self.ahead = device, ahead
        self._marks: list[torch.cuda.Event | float] = []
        self._sent: deque[tuple[int, int, torch.Tensor, list[torch.cuda.Event | float]]] = deque()

    def mark(self) -> None:
        """A phase of the iteration begins, or the last one ends."""
        if self.device.type == "cuda":
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self._marks.append(event)
        else:
            self._marks.append(time.perf_counter())

    def send(self, iteration: int, steps: int, numbers: torch.Tensor) -> None:
        """Send off ``numbers``, shape (n,)."""
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
        """What has arrived since the last call; ``everything`` waits for the rest."""
        found = []
        while self._sent:
            iteration, steps, host, marks = self._sent[0]
            last = marks[-1]
            if isinstance(last, torch.cuda.Event) and not last.query():
                if not everything and len(self._sent) <= self.ahead:
                    break
                last.synchronize()
            self._sent.popleft()
            spans = [_between(a, b) for a, b in pairwise(marks)]
            found.append(IterationReport(iteration, steps, host.tolist(), dict(zip(PHASES, spans, strict=False))))
        return found


def _between(first: torch.cuda.Event | float, second: torch.cuda.Event | float) -> float:
    """Seconds from one mark to another."""
    if isinstance(first, float) or isinstance(second, float):
        return float(second) - float(first)  # type: ignore[arg-type]
    return float(first.elapsed_time(second)) / 1000.0
