"""The display of a training run: a live panel in a terminal, plain lines elsewhere."""

from __future__ import annotations

import itertools
import math
import time
from dataclasses import dataclass
from typing import Protocol

import torch
from rich import box
from rich.columns import Columns
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from worldloom.core.base.shards import num_cores
from worldloom.learn.training.progress import METRICS, Progress, by_policy, format_duration, format_progress
from worldloom.terminal import console as consoles

REFRESHES_PER_SECOND = 4
"""Each refresh takes about 7 ms of Python time from training."""

LONG_ITERATION_S = 2.0
"""Seconds after which the panel shows how long an iteration has been running."""

LOAD_INTERVAL_S = 2.0
"""Seconds between two readings of the machine's load."""

SPARKLINE_LEVELS = "▁▂▃▄▅▆▇█"
SPARKLINE_WIDTH = 24
"""Characters of a sparkline."""

LABELS = {
    "episode/return": "return",
    "episode/length": "length",
    "episode/count": "episodes",
    "episode/faults": "faults",
    "eval/return": "evaluated",
    "eval/length": "eval. length",
    "loss/policy": "policy loss",
    "loss/value": "value loss",
    "loss/entropy": "entropy",
    "update/kl": "KL",
    "update/clip_fraction": "clip fraction",
    "update/learning_rate": "learning rate",
    "update/explained_variance": "explained var.",
    "update/gradient_norm": "gradient norm",
}
GIB = 1 << 30
TWO_COLUMN_WIDTH = 84
"""Minimum terminal width for the two-column layout."""


class TrainingConsole(Protocol):
    """Display of a training run: started once, updated in every iteration, stopped once."""

    def start(self, title: str, details: dict[str, str]) -> None:
        """Show what is trained, and how."""

    def update(self, progress: Progress) -> None:
        """Store the progress of an iteration; cheap."""

    def stop(self, final: str = "") -> None:
        """Release the terminal, and print a final line."""


def open_console(quiet: bool = False, device: torch.device | None = None) -> TrainingConsole:
    """A live panel if standard error is a terminal that supports it; plain lines otherwise, or with ``quiet``."""
    screen = consoles.err()
    if quiet or not screen.is_terminal or screen.is_dumb_terminal or not screen.encoding.lower().startswith("utf"):
        return PlainConsole(quiet=quiet, screen=screen)
    return LiveConsole(device, screen)


class PlainConsole:
    """Plain lines, at most one every ``every_s`` seconds; with ``quiet`` only the final line."""

    def __init__(self, every_s: float = 2.0, quiet: bool = False, screen: Console | None = None) -> None:
        self.every_s, self.quiet = every_s, quiet
        self._screen = screen or consoles.err()
        self._printed_at = -math.inf
        self._pending: Progress | None = None

    def start(self, title: str, details: dict[str, str]) -> None:
        if not self.quiet:
            self._print(f"training {title}" + "".join(f", {name} {value}" for name, value in details.items()))

    def update(self, progress: Progress) -> None:
        self._pending = progress
        if not self.quiet and time.monotonic() - self._printed_at >= self.every_s:
            self._print_progress()

    def stop(self, final: str = "") -> None:
        if not self.quiet:
            self._print_progress()
        if final:
            self._print(final)

    def _print_progress(self) -> None:
        if self._pending is not None:
            self._print(format_progress(self._pending))
            self._printed_at, self._pending = time.monotonic(), None

    def _print(self, line: str) -> None:
        self._screen.print(Text(line), soft_wrap=True)


class LiveConsole:
    """A panel that a separate thread draws, so that training never waits for the terminal."""

    def __init__(self, device: torch.device | None = None, screen: Console | None = None) -> None:
        self._screen = screen or consoles.err()
        self._machine = LoadMonitor(device)
        self._title, self._details = "", dict[str, str]()
        self._progress: Progress | None = None
        self._histories: dict[str, DownsampledSeries] = {}
        self._spinner = Spinner("dots")
        self._iteration_start = time.monotonic()
        self._live: Live | None = None

    def start(self, title: str, details: dict[str, str]) -> None:
        self._title, self._details = title, dict(details)
        self._iteration_start = time.monotonic()
        self._live = Live(get_renderable=self.panel, console=self._screen, refresh_per_second=REFRESHES_PER_SECOND)
        self._live.start(refresh=True)

    def update(self, progress: Progress) -> None:
        for policy, numbers in by_policy(progress.metrics).items():
            value = numbers.get("episode/return", math.nan)
            if math.isfinite(value):
                self._histories.setdefault(policy, DownsampledSeries()).add(value)
        self._progress, self._iteration_start = progress, time.monotonic()

    def stop(self, final: str = "") -> None:
        if self._live is not None:
            self._live.stop()
            self._live = None
        if final:
            self._screen.print(Text(final, style="bold"), soft_wrap=True)

    def panel(self) -> Panel:
        """The current panel."""
        sections: list[RenderableType] = [_details(self._details)] if self._details else []
        progress, running = self._progress, time.monotonic() - self._iteration_start
        if progress is not None:
            sections.append(_bar(progress))
        if progress is None or running >= LONG_ITERATION_S:
            sections.append(self._iteration(progress, running))
        if progress is not None:
            metrics, side = self._metrics(progress), _loads(progress, self._machine.load())
            if self._screen.width >= TWO_COLUMN_WIDTH:
                halves = Table.grid(expand=True, padding=(0, 2))
                halves.add_column(ratio=11)
                halves.add_column(ratio=9)
                halves.add_row(metrics, side)
                sections.append(halves)
            else:
                sections.extend([metrics, side])
        spaced = [Padding(section, (0, 0, int(i < len(sections) - 1), 0)) for i, section in enumerate(sections)]
        title = Text.assemble(("training ", "dim"), (self._title, "bold"))
        return Panel(
            Group(*spaced), title=title, title_align="left", border_style="cyan", box=box.ROUNDED, padding=(0, 2)
        )

    def _iteration(self, progress: Progress | None, running: float) -> Spinner:
        """The iteration that is running, for ``running`` seconds."""
        text = (
            "first iteration, which compiles kernels" if progress is None else f"iteration {progress.iteration + 1:,}"
        )
        self._spinner.update(text=Text(f"{text}  {format_duration(running)}", style="dim"))
        return self._spinner

    def _metrics(self, progress: Progress) -> Group:
        """Returns with sparklines, and a column of metrics for each policy."""
        policies = by_policy(progress.metrics)
        returns = Table.grid(padding=(0, 2))
        for policy, numbers in policies.items():
            if "episode/return" in numbers:
                history = self._histories.get(policy, DownsampledSeries())
                label = Text.assemble(("return", "dim"), f" {policy}" if policy else "")
                returns.add_row(
                    label,
                    Text(format_value(numbers["episode/return"]), "bold green"),
                    Text(sparkline(history.values), "green"),
                )
        names = [
            name
            for name in METRICS
            if name != "episode/return" and any(name in numbers for numbers in policies.values())
        ]
        names += [
            name for name in dict.fromkeys(n for numbers in policies.values() for n in numbers) if name not in METRICS
        ]
        return Group(
            returns, "", _pairs(names, *policies.values()) if len(policies) == 1 else _columns(names, policies)
        )


def _details(details: dict[str, str]) -> Columns:
    """``device NVIDIA H200   worlds 4,096``, broken between entries."""
    return Columns([Text.assemble((name, "dim"), " ", value) for name, value in details.items()], padding=(0, 3))


def _bar(progress: Progress) -> Group:
    line = Table.grid(expand=True, padding=(0, 2, 0, 0))
    line.add_column(ratio=1)
    line.add_column(justify="right", no_wrap=True)
    line.add_column(justify="right", no_wrap=True)
    done = ProgressBar(total=1.0, completed=progress.fraction, complete_style="cyan", finished_style="green")
    times = Text.assemble(
        format_duration(progress.seconds),
        (" elapsed  ", "dim"),
        (format_duration(progress.seconds_left), "bold"),
        (" left", "dim"),
    )
    line.add_row(done, Text(f"{progress.fraction:.0%}", "bold"), times)
    counts = Text.assemble(
        f"{progress.steps:,}",
        (f" of {progress.total_steps:,} steps   iteration ", "dim"),
        f"{progress.iteration:,}   ",
        (consoles.format_count(progress.steps_per_second), "bold cyan"),
        (" steps/s", "dim"),
    )
    return Group(line, counts)


def _pairs(names: list[str], numbers: dict[str, float]) -> Table:
    """The metrics of a single policy, in two columns."""
    table = Table.grid(padding=(0, 3, 0, 0))
    for _ in range(2):
        table.add_column(style="dim", no_wrap=True)
        table.add_column(justify="right", no_wrap=True)
    cells = [(LABELS.get(name, name), format_value(numbers[name])) for name in names]
    half = (len(cells) + 1) // 2
    for left, right in zip(cells[:half], [*cells[half:], ("", "")], strict=False):
        table.add_row(*left, *right)
    return table


def _columns(names: list[str], policies: dict[str, dict[str, float]]) -> Table:
    """The metrics of several policies, one column each."""
    table = Table(box=None, padding=(0, 3, 0, 0), header_style="bold", pad_edge=False)
    table.add_column("", style="dim", no_wrap=True)
    for policy in policies:
        table.add_column(policy, justify="right", no_wrap=True)
    for name in names:
        table.add_row(
            LABELS.get(name, name),
            *(format_value(numbers[name]) if name in numbers else "" for numbers in policies.values()),
        )
    return table


def _loads(progress: Progress, machine: list[Gauge]) -> Table:
    """The time of each phase, and the load of the machine."""
    table = Table.grid(expand=True, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(ratio=1)
    table.add_column(justify="right", no_wrap=True)
    phases = [Gauge(phase, share, f"{share:.0%}") for phase, share in progress.shares.items()]
    for bars, style in ((phases, "magenta"), (machine, "blue")):
        for bar in bars:
            table.add_row(
                bar.label,
                ProgressBar(total=1.0, completed=min(1.0, bar.fraction), complete_style=style, finished_style=style),
                bar.text,
            )
        if bars is phases and bars:
            table.add_row()
    return table


@dataclass(frozen=True)
class Gauge:
    """A fraction from 0 to 1, with its label and its text."""

    label: str
    fraction: float
    text: str


class LoadMonitor:
    """The load of CPU and GPU, read at intervals. Only host-side counters are read, which graph capture allows."""

    def __init__(self, device: torch.device | None) -> None:
        self.device = device if device is not None and device.type == "cuda" else None
        self._total = torch.cuda.get_device_properties(self.device).total_memory if self.device is not None else 0
        self._read_at, self._used_at_read = time.perf_counter(), time.process_time()
        self._bars: list[Gauge] = []

    def load(self) -> list[Gauge]:
        """The load of the GPU and its memory, if there is one, and of the CPU; not older than ``LOAD_INTERVAL_S``."""
        now, used = time.perf_counter(), time.process_time()
        passed = now - self._read_at
        if passed >= LOAD_INTERVAL_S or (not self._bars and passed > 0):
            cores = num_cores()
            busy = (used - self._used_at_read) / passed
            self._bars = [*self._gpu(), Gauge("CPU", busy / cores, f"{busy:.1f} of {cores} cores")]
            self._read_at, self._used_at_read = now, used
        return self._bars

    def _gpu(self) -> list[Gauge]:
        if self.device is None:
            return []
        bars = []
        try:
            busy = torch.cuda.utilization(self.device) / 100
            used = torch.cuda.device_memory_used(
                self.device
            )  # of the whole GPU: PyTorch does not allocate the worlds' memory
            bars.append(Gauge("GPU", busy, f"{busy:.0%}"))
        except Exception:  # NVIDIA's monitoring library is missing or fails; a display must not end a run
            used = torch.cuda.memory_allocated(self.device)
        return [*bars, Gauge("memory", used / self._total, f"{used / GIB:.1f} of {self._total / GIB:.0f} GiB")]


class DownsampledSeries:
    """A series in at most ``2 * SPARKLINE_WIDTH`` points; when they are full, adjacent points are averaged."""

    def __init__(self) -> None:
        self._means: list[float] = []
        self._open: list[float] = []
        self._merged = 1

    @property
    def values(self) -> list[float]:
        """The points, oldest first; the last one may be the mean of fewer values."""
        rest = list(self._open)
        return [*self._means, sum(rest) / len(rest)] if rest else list(self._means)

    def add(self, value: float) -> None:
        self._open.append(value)
        if len(self._open) == self._merged:
            self._means = [*self._means, sum(self._open) / self._merged]
            self._open = []
        if len(self._means) == 2 * SPARKLINE_WIDTH:
            self._means = [(a + b) / 2 for a, b in zip(self._means[::2], self._means[1::2], strict=True)]
            self._merged *= 2


def sparkline(values: list[float]) -> str:
    """A curve of at most ``SPARKLINE_WIDTH`` characters, from the lowest value to the highest."""
    if len(values) < 2:
        return ""
    width = min(len(values), SPARKLINE_WIDTH)
    edges = [round(i * len(values) / width) for i in range(width + 1)]
    means = [sum(values[a:b]) / (b - a) for a, b in itertools.pairwise(edges)]
    low, high = min(means), max(means)
    scale = (len(SPARKLINE_LEVELS) - 1) / (high - low) if high > low else 0.0
    return "".join(SPARKLINE_LEVELS[round((value - low) * scale)] for value in means)


def format_value(value: float) -> str:
    """A number in few characters: ``12,345``, ``0.0123``, ``3.0e-04``; ``-`` if it is not finite."""
    if not math.isfinite(value):
        return "-"
    if value == 0 or abs(value) >= 1e-3:
        return f"{value:,.0f}" if abs(value) >= 1e4 or value == int(value) else f"{value:.4g}"
    return f"{value:.1e}"
