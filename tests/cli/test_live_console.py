"""The display of a training run: the panel, the plain lines, and the choice between them."""

import io
import math
import random
import re
import time

import pytest
import torch
from rich.console import Console

from worldloom.cli.training import live_console as live
from worldloom.cli.training.live_console import (
    DownsampledSeries,
    LiveConsole,
    LoadMonitor,
    PlainConsole,
    format_value,
    open_console,
    sparkline,
)
from worldloom.learn.training.progress import METRICS, Progress

DETAILS = {"device": "cpu", "worlds": "64", "folder": "runs/CartPole-v1-ppo-s0-1"}
OTHERS = ("update/epsilon", "update/temperature", "value/mean", "eval/return", "eval/length")
NAMES = [name for name in METRICS if name not in OTHERS and not name.startswith("elo/")]
VALUES = [400.5, 401.25, 10234.0, 3.0, -0.0123, 12.31, 0.5212, 0.0081, 0.112, 2.5e-4, 0.931, math.nan]


def progress(iteration, policies=("",), **changes):
    metrics = {name + policy: value for policy in policies for name, value in zip(NAMES, VALUES, strict=True)}
    shares = {"roll-out": 0.61, "update": 0.35, "other": 0.04}
    return Progress(iteration, 2048 * iteration, 1_000_000, 0.5 * iteration, 4096.0, metrics | changes, shares)


def screen(width=100, **options):
    return Console(record=True, width=width, height=40, force_terminal=True, file=io.StringIO(), **options)


def shown(console, width=100):
    """The panel as text, printed at a given width."""
    console._screen = screen(width)
    console._screen.print(console.panel())
    return console._screen.export_text()


def started(width=100):
    """A live console that draws only on request, so that tests do not depend on time."""
    console = LiveConsole(screen=screen(width))
    console._title, console._details = "CartPole-v1 with PPO", DETAILS
    return console


def test_the_panel_says_everything():
    console = started()
    assert "compiles kernels" in shown(console)
    for i in range(1, 206):
        console.update(progress(i, **{"episode/return": float(i)}))
    text = shown(console)
    lines = text.splitlines()
    assert lines[0].startswith("╭─ training CartPole-v1 with PPO ─") and lines[-1].startswith("╰")
    assert {len(line) for line in lines} == {100}, "no line is broken or too long"
    assert "device cpu   worlds 64   folder runs/CartPole-v1-ppo-s0-1" in text
    for part in ["419,840 of 1,000,000 steps", "iteration 205", "4,096 steps/s", "42%", "1:42 elapsed", "2:22 left"]:
        assert part in text
    assert re.search(r"return +205 +▁▁.*██ ", text)
    for label, value in [
        ("length", "401.2"),
        ("episodes", "10,234"),
        ("policy loss", "-0.0123"),
        ("KL", "0.0081"),
        ("learning rate", "2.5e-04"),
    ]:
        assert re.search(rf"{label} +{value}\b", text), label
    assert re.search(r"gradient norm +- ", text), "what is not a number is not shown as one"
    for phase, share in [("roll-out", "61%"), ("update", "35%"), ("other", "4%")]:
        assert re.search(rf"{phase} +[━╸╺].* +{share} ", text), phase
    assert re.search(r"CPU +[━╸╺].* \d+\.\d of \d+ cores", text)
    assert "GPU" not in text


def test_a_long_iteration_shows_that_it_is_running(monkeypatch):
    console, now = started(), time.monotonic()
    monkeypatch.setattr(live.time, "monotonic", lambda: now)
    console._iteration_start = now
    assert re.search(r"first iteration.* 0:00", shown(console))
    console.update(progress(7))
    assert "iteration 8" not in shown(console)
    now += 31.0
    assert re.search(r"iteration 8 +0:31", shown(console))


def test_several_policies_have_a_column_each():
    console = started()
    for i in (1, 2):
        console.update(
            progress(i, ("/hider", "/seeker"), **{"episode/return/hider": float(i), "episode/return/seeker": float(-i)})
        )
    text = shown(console)
    assert re.search(r"return hider +2 +▁█ ", text) and re.search(r"return seeker +-2 +█▁ ", text)
    assert re.search(r" hider +seeker ", text) and re.search(r"value loss +12.31 +12.31 ", text)


def test_metrics_of_the_user_are_shown_too():
    console = started()
    console.update(progress(1, **{"mine/height": 7.5}))
    assert re.search(r"mine/height +7.5 ", shown(console))


@pytest.mark.parametrize("width", [50, 70, 84, 160])
def test_the_panel_fits_any_terminal(width):
    console = started(width)
    console.update(progress(7))
    text = shown(console, width)
    assert {len(line) for line in text.splitlines()} == {width}
    assert "400.5" in text and "roll-out" in text


def test_a_run_from_start_to_stop():
    console = LiveConsole(screen=screen())
    console.start("CartPole-v1", DETAILS)
    try:
        console.update(progress(3))
    finally:
        console.stop("solved")
        console.stop()
    drawn = console._screen.export_text()
    assert "6,144 of 1,000,000 steps" in drawn, "the last state stays on the screen"
    assert drawn.rstrip().endswith("solved")


def test_an_update_does_not_draw(monkeypatch):
    console = started()
    monkeypatch.setattr(console, "panel", lambda: pytest.fail("drawn by the trainer's thread"))
    for i in range(1000):
        console.update(progress(i))
    assert len(console._histories[""].values) <= 2 * live.SPARKLINE_WIDTH + 1


def test_a_gpu_is_asked_now_and_then(monkeypatch):
    asked = []
    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda device: type("Properties", (), {"total_memory": 8 << 30})
    )
    monkeypatch.setattr(torch.cuda, "utilization", lambda device: asked.append(device) or 93)
    monkeypatch.setattr(torch.cuda, "device_memory_used", lambda device: 2 << 30)
    format_duration = iter([0.0, 0.1, 0.2, 1.9, 2.3])
    monkeypatch.setattr(time, "perf_counter", lambda: next(format_duration))
    machine = LoadMonitor(torch.device("cuda", 0))
    bars = [machine.load() for _ in range(4)][-1]
    assert len(asked) == 2, "at the first look, and after two seconds"
    assert [(bar.label, bar.fraction, bar.text) for bar in bars[:2]] == [
        ("GPU", 0.93, "93%"),
        ("memory", 0.25, "2.0 of 8 GiB"),
    ]


def test_without_the_monitoring_library_pytorchs_memory_is_shown(monkeypatch):
    def missing(device):
        raise ModuleNotFoundError("nvidia-ml-py does not seem to be installed")

    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda device: type("Properties", (), {"total_memory": 8 << 30})
    )
    monkeypatch.setattr(torch.cuda, "utilization", missing)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 1 << 30)
    assert [(bar.label, bar.text) for bar in LoadMonitor(torch.device("cuda", 0)).load()[:-1]] == [
        ("memory", "1.0 of 8 GiB")
    ]


def plain_lines(monkeypatch, times, **options):
    """The lines of a plain console for updates at the given seconds."""
    now = iter(times)
    current = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: current[0])
    out = Console(file=io.StringIO(), width=20)
    console = PlainConsole(screen=out, **options)
    console.start("CartPole-v1", {"device": "cpu"})
    for i, current[0] in enumerate(now, start=1):
        console.update(progress(i))
    console.stop("done")
    return out.file.getvalue().splitlines()


def test_plain_lines_come_now_and_then_and_at_the_end(monkeypatch):
    lines = plain_lines(monkeypatch, [0.0, 1.0, 1.9, 2.0, 3.0, 3.5])
    assert lines[0] == "training CartPole-v1, device cpu"
    assert [line.split(",")[0] for line in lines[1:-1]] == ["iteration 1", "iteration 4", "iteration 6"]
    assert (
        lines[1]
        == "iteration 1, 2,048 of 1,000,000 steps (0%), 4,096 steps/s, return 400.5, length 401.2, KL 0.0081, 4:04 left"
    )
    assert lines[-1] == "done"


def test_the_last_line_is_not_said_twice(monkeypatch):
    lines = plain_lines(monkeypatch, [0.0, 2.0])
    assert [line.split(",")[0] for line in lines] == ["training CartPole-v1", "iteration 1", "iteration 2", "done"]


def test_quiet_prints_the_last_line_only(monkeypatch):
    assert plain_lines(monkeypatch, [0.0, 5.0], quiet=True) == ["done"]


def test_only_a_terminal_gets_the_panel(monkeypatch):
    def opened(quiet=False, encoding="utf-8", term="xterm", **options):
        monkeypatch.setenv("TERM", term)
        console = Console(file=io.TextIOWrapper(io.BytesIO(), encoding=encoding), **options)
        monkeypatch.setattr(live.consoles, "err", lambda: console)
        return open_console(quiet)

    assert isinstance(opened(force_terminal=True), LiveConsole)
    assert isinstance(opened(force_terminal=False), PlainConsole)
    assert isinstance(opened(force_terminal=True, encoding="ascii"), PlainConsole)
    assert isinstance(opened(force_terminal=True, term="dumb"), PlainConsole)
    quiet = opened(quiet=True, force_terminal=True)
    assert isinstance(quiet, PlainConsole) and quiet.quiet


def test_a_history_stays_short_and_true():
    history, values = DownsampledSeries(), [random.Random(1).gauss(0, 1) + i for i in range(1000)]
    for value in values:
        history.add(value)
    kept = history.values
    assert live.SPARKLINE_WIDTH <= len(kept) <= 2 * live.SPARKLINE_WIDTH
    assert kept[0] == pytest.approx(sum(values[: history._merged]) / history._merged)
    assert kept == sorted(kept)


def test_sparklines_and_numbers():
    assert sparkline([float(i) for i in range(8)]) == live.SPARKLINE_LEVELS
    assert (sparkline([]), sparkline([1.0]), sparkline([2.0, 2.0])) == ("", "", "▁▁")
    assert len(sparkline([random.random() for _ in range(47)])) == live.SPARKLINE_WIDTH
    assert [format_value(v) for v in (0.0, 12345.6, -3.0, 0.012345, 3e-4, math.nan)] == [
        "0",
        "12,346",
        "-3",
        "0.01235",
        "3.0e-04",
        "-",
    ]


def test_the_last_evaluation_stays_on_the_console(monkeypatch):
    from worldloom.cli.training.console_callback import ConsoleCallback

    callback, seen = ConsoleCallback(None, quiet=True), []
    callback._console = type("Recorded", (), {"update": lambda self, progress: seen.append(progress)})()
    callback.update(progress(1, **{"eval/return": 120.0}))
    callback.update(progress(2))
    assert [p.metrics["eval/return"] for p in seen] == [120.0, 120.0]
    callback._console = None
