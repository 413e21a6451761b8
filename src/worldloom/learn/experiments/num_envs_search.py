"""The number of worlds that trains fastest, found by doubling it until that no longer helps or does not fit.

The measurements run in a process of their own, so that one that exhausts the memory does not end the command, and a
training afterwards starts as if nothing had been measured.
"""

from __future__ import annotations

import queue
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from worldloom.core.base.errors import InputError
from worldloom.learn.experiments.batch_rate import BatchRate
from worldloom.learn.experiments.worker_process import Message, Send, WorkerProcess
from worldloom.learn.runs.training_request import TrainingRequest, request_to_dict

WORKER = "worldloom.learn.experiments.num_envs_worker"
SMALLEST = 64
"""The first number of worlds; the number of the request where that is smaller, as that of slow worlds is."""
MIN_GAIN = 1.05
"""A number of worlds counts as faster from this factor."""
MAX_WITHOUT_GAIN = 2
"""The search ends after this many numbers in a row that are not faster."""
MIN_ITERATIONS = 20
"""Iterations that a training must have left: with fewer, nothing is learned, however fast."""
MEMORY_FRACTION = 0.8
"""Fraction of the free memory that the next number of worlds may need."""
MAX_SECONDS = 120.0
"""A number whose measurement would end after this time is not measured. Twice as many worlds take twice as long."""
CONTENDER = 0.9
"""Numbers with at least this fraction of the highest rate are measured twice, and the higher rate counts."""


@dataclass(frozen=True)
class NumEnvsSearch:
    """The result of a search.

    Attributes:
        rates: What was measured, in ascending order of the number of worlds.
        end: Why the search ended there.
    """

    rates: tuple[BatchRate, ...]
    end: str

    @property
    def best(self) -> BatchRate:
        """The fastest."""
        return max((rate for rate in self.rates if rate.steps_per_second), key=lambda rate: rate.steps_per_second or 0)

    def as_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {"chosen": self.best.num_envs, "measured": [asdict(rate) for rate in self.rates], "end": self.end}


def search_num_envs(
    request: TrainingRequest, on_rate: Callable[[BatchRate], None] | None = None, smallest: int | None = None
) -> NumEnvsSearch:
    """Find the number of worlds with which ``request`` trains fastest.

    Args:
        request: The training.
        on_rate: Called with each measurement; a second time where one was repeated and is faster.
        smallest: The first number of worlds; each next one is twice the last. By default 64, or the number of
            ``request`` where that is smaller.

    Raises:
        InputError: Where no number could be measured.
    """
    rates: dict[int, BatchRate] = {}
    smallest = smallest or min(SMALLEST, request.config.num_envs)
    trying, end = smallest, ""

    def add(rate: BatchRate) -> None:
        rates[rate.num_envs] = rate
        if on_rate is not None:
            on_rate(rate)

    message = {"request": request_to_dict(request), "smallest": smallest}
    with tempfile.TemporaryDirectory() as folder, WorkerProcess(WORKER, message, Path(folder) / "log") as worker:
        while (answer := _next(worker)) is not None:
            if "trying" in answer:
                trying = answer["trying"]
            elif "end" in answer:
                end = answer["end"]
            else:
                add(BatchRate(**answer))
        if not end:  # it was killed, as by the kernel where memory runs out
            end = worker.describe_exit()
            if trying not in rates:
                add(BatchRate(trying, problem=end))
    if not any(rate.steps_per_second for rate in rates.values()):
        raise InputError(f"no number of worlds could be measured, {trying:,} as the last: {end}")
    return NumEnvsSearch(tuple(rates.values()), end)


def _next(worker: WorkerProcess) -> Message | None:
    """The next message of the worker, however long it takes; None where it has exited."""
    while True:
        try:
            return worker.receive(1.0)
        except queue.Empty:
            continue


def climb(
    measure: Callable[[int], BatchRate],
    free_memory: Callable[[], int | None],
    total_steps: int,
    send: Send,
    smallest: int = SMALLEST,
) -> None:
    """Measure ``smallest`` worlds, then twice as many, and so on; then measure the fastest ones again.

    Args:
        measure: Measures a number of worlds.
        free_memory: Free bytes of the device between two measurements; None where they are unknown.
        total_steps: Environment steps of the training.
        send: Gets ``{"trying": number}`` and the measurement as a dictionary for each number, then ``{"end": reason}``.
        smallest: The first number.
    """
    rates: dict[int, float] = {}
    without_gain, number, reason, began = 0, smallest, "", time.monotonic()
    while not reason:
        send({"trying": number})
        started = time.monotonic()
        rate = measure(number)
        now = time.monotonic()
        send(asdict(rate))
        if rate.steps_per_second is None:
            reason = rate.problem
            break
        best = max(rates.values(), default=0.0)
        without_gain = 0 if rate.steps_per_second > MIN_GAIN * best else without_gain + 1
        rates[number] = rate.steps_per_second
        next_end = now - began + 2.0 * (now - started)
        reason = _reason_to_end(rate, without_gain, free_memory(), total_steps, next_end)
        number *= 2
    if time.monotonic() - began > 0.5 * MAX_SECONDS:  # too slow to repeat
        rates = {}
    contenders = [number for number, speed in rates.items() if speed >= CONTENDER * max(rates.values(), default=0.0)]
    for number in contenders if len(contenders) > 1 else ():
        again = measure(number)
        if again.steps_per_second is not None and again.steps_per_second > rates[number]:
            send(asdict(again))
    send({"end": reason})


def _reason_to_end(rate: BatchRate, without_gain: int, free: int | None, total_steps: int, next_end: float) -> str:
    """Why twice the number of worlds of ``rate`` is not measured; empty where it is."""
    if without_gain >= MAX_WITHOUT_GAIN:
        return "more worlds are not faster"
    if 2 * rate.iteration_steps * MIN_ITERATIONS > total_steps:
        return f"with more worlds, total_steps={total_steps:,} would be fewer than {MIN_ITERATIONS} iterations"
    if free is not None and 2 * rate.memory > MEMORY_FRACTION * free:
        return f"more worlds would need about {2 * rate.memory:,} bytes of memory, and {free:,} are free"
    if next_end > MAX_SECONDS:
        return f"with more worlds, the search would take longer than {MAX_SECONDS:.0f} s"
    return ""
