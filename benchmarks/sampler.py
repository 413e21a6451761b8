"""Drawing actions: one kernel of ours against torch.distributions' sample, log_prob and entropy.

python benchmarks/sampler.py                       # a table
python benchmarks/sampler.py --device cuda:0 --json
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch
import tyro
from rich.console import Console
from rich.table import Table
from torch.distributions import Categorical

from worldloom.learn.actions.sampler import Sampler
from worldloom.learn.agents.specs import ActionSpec

ROUNDS = 7
CASES = ((10_000, 5), (2_000_000, 5), (10_000, 18), (10_000, 441))


@dataclass
class Settings:
    """Time the sampler against torch.distributions."""

    device: str = "auto"
    """Where to run: cpu, cuda:0, or auto."""
    json: bool = False
    """Print the figures as JSON instead of a table."""
    seconds: float = 1.0
    """How long each case runs."""


@dataclass
class Rate:
    """One case.

    Attributes:
        microseconds: One call of ours: action, log-probability and entropy.
        torch_microseconds: The same three from torch.distributions.Categorical, its checks of arguments switched off.
        ratio: How many times faster ours is.
        recorded: Whether both were replayed from CUDA graphs, as inside an iteration, or called from Python.
    """

    rows: int
    choices: int
    recorded: bool
    microseconds: float
    torch_microseconds: float
    ratio: float


def main(settings: Settings) -> None:
    name = settings.device if settings.device != "auto" else "cuda:0" if torch.cuda.is_available() else "cpu"
    device = torch.device(name)
    rates = [rate for rows, choices in CASES for rate in bench_case(rows, choices, device, settings.seconds)]
    if settings.json:
        hardware = torch.cuda.get_device_name(device) if device.type == "cuda" else f"{torch.get_num_threads()} threads"
        print(
            json.dumps(
                {
                    "device": name,
                    "hardware": hardware,
                    "torch": torch.__version__,
                    "sampler": [asdict(r) for r in rates],
                },
                indent=1,
            )
        )
        return
    table = Table(title=f"sample, log-probability and entropy on {name}")
    for heading in ("rows", "choices", "recorded", "ours, µs", "torch.distributions, µs", "ratio"):
        table.add_column(heading, justify="right")
    for r in rates:
        table.add_row(
            f"{r.rows:,}",
            f"{r.choices}",
            "yes" if r.recorded else "no",
            f"{r.microseconds:,.1f}",
            f"{r.torch_microseconds:,.1f}",
            f"{r.ratio:.1f}",
        )
    Console().print(table)


def bench_case(rows: int, choices: int, device: torch.device, seconds: float) -> list[Rate]:
    """One case, called from Python, and on a GPU replayed from graphs too."""
    logits = torch.randn(rows, choices, device=device)
    sampler = Sampler(ActionSpec("categorical", (choices,)), rows, device, seed=0)
    action = torch.empty(rows, 1, dtype=torch.int32, device=device)
    log_prob, entropy = (torch.empty(rows, device=device) for _ in range(2))

    def ours() -> None:
        sampler.sample(logits, action=action, log_prob=log_prob, entropy=entropy)
        sampler.advance()

    def theirs() -> None:
        distribution = Categorical(logits=logits, validate_args=False)
        drawn = distribution.sample()
        distribution.log_prob(drawn)
        distribution.entropy()

    pairs = [(False, ours, theirs)]
    if device.type == "cuda":
        pairs.append((True, recorded(ours, device), recorded(theirs, device)))
    rates = []
    for is_recorded, mine, other in pairs:
        each, each_other = alternating([mine, other], device, seconds / len(pairs))
        rates.append(Rate(rows, choices, is_recorded, each * 1e6, each_other * 1e6, each_other / each))
    return rates


def recorded(call: Callable[[], None], device: torch.device) -> Callable[[], None]:
    """The call as a CUDA graph."""
    warm_up = torch.cuda.Stream(device)
    with torch.cuda.stream(warm_up):
        for _ in range(3):
            call()
    torch.cuda.synchronize(device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return graph.replay


def alternating(calls: list[Callable[[], None]], device: torch.device, seconds: float) -> list[float]:
    """Median seconds of one call of each, over alternating rounds."""
    repeats = []
    for call in calls:
        timed(call, 3, device)
        each = timed(call, 5, device)
        repeats.append(max(5, int(seconds / len(calls) / ROUNDS / max(each, 1e-7))))
    found: list[list[float]] = [[] for _ in calls]
    for _ in range(ROUNDS):
        for call, count, times in zip(calls, repeats, found, strict=True):
            times.append(timed(call, count, device))
    return [statistics.median(times) for times in found]


def timed(call: Callable[[], None], count: int, device: torch.device) -> float:
    """Seconds of one of ``count`` calls: between two CUDA events on a GPU, by the clock elsewhere."""
    if device.type != "cuda":
        start = time.perf_counter()
        for _ in range(count):
            call()
        return (time.perf_counter() - start) / count
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(count):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / 1e3 / count


if __name__ == "__main__":
    main(tyro.cli(Settings))
