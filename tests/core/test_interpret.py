"""The interpreter: breakpoints stop in the user's own lines, with the user's own names, and print prints."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path

import numpy as np
import pytest

import worldloom as wl

HERE = str(Path(__file__))


class Ball(wl.Entity):
    height: float = 2.0
    spot: wl.vec2
    marks: wl.Array(int, 3)
    kick: wl.Action(wl.Discrete(2))
    rival: wl.Ref("Ball")
    bounces: int


class Yard(wl.World):
    gravity: wl.Config = 0.5


@wl.function
def halve(x: float):
    return x / 2.0


@wl.system
def fall(ball: Ball, world: Yard):
    speed = world.gravity * 2.0
    new_height = ball.height - halve(speed)
    if world.id == 1 and ball.id == 0:
        breakpoint()
    ball.height = new_height
    if new_height < 1.2:
        ball.bounces += 1
        print("bounce", ball.bounces)


@wl.system
def rivals(ball: Ball, world: Yard):
    for other in world.all(Ball):
        if other.id != ball.id:
            ball.rival = other.ref
    ball.spot.x = ball.height
    ball.marks[1] = ball.kick


class Boat(wl.Entity):
    x: float
    y: float


class Lake(wl.World):
    wind: wl.Config = 0.5


@wl.system
def drift(boat: Boat, world: Lake):
    boat.x += world.wind
    boat.y += boat.x * world.wind
    boat.x *= 0.5
    boat.y -= boat.x


DRIFT = wl.Definition("Drift-test", Lake, {Boat: 1}, step=(drift,))
YARD = wl.Definition("Yard-test", Yard, {Ball: 2}, step=(fall, rivals))


def line_of(text: str) -> int:
    """The line of this file whose code is ``text``."""
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, line in enumerate(lines, start=1) if line.strip() == text)


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, int, str, dict]]:
    """Where ``breakpoint()`` stopped: file, line, function and what a debugger would show there."""
    found: list[tuple[str, int, str, dict]] = []

    def hook(*_, **__) -> None:
        frame = inspect.currentframe().f_back
        shown = dict(frame.f_locals)
        shown["height now"] = float(shown["ball"].height)
        found.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name, shown))

    monkeypatch.setattr(sys, "breakpointhook", hook)
    return found


def test_a_breakpoint_stops_in_the_users_line(stops: list, capsys: pytest.CaptureFixture[str]) -> None:
    sim = wl.Simulation(YARD, 3, "python", seed=0)
    sim.step()
    assert [(file, line, function) for file, line, function, _ in stops] == [(HERE, line_of("breakpoint()"), "fall")]
    shown = stops[0][3]
    assert shown["speed"] == 1.0 and shown["new_height"] == 1.5 and shown["height now"] == 2.0
    assert shown["ball"].id == 0 and shown["world"].gravity == 0.5
    assert {"ball", "world"} <= set(shown)
    sim.step()
    assert len(stops) == 2 and stops[1][3]["new_height"] == 1.0
    assert capsys.readouterr().out.splitlines() == ["bounce 1"] * 6


def test_the_row_shows_its_components(stops: list) -> None:
    wl.Simulation(YARD, 2, "python", seed=0, config={"gravity": 0.25}).step()
    text = repr(stops[0][3]["ball"])
    assert "Ball 0" in text and "height=1.75" in text and "bounces=0" in text


def test_stepping_through_shows_every_line_of_the_user(stops: list) -> None:
    """A tracer, as a debugger sets one, walks through the lines of the user's function in the user's file."""
    walked: list[int] = []

    def trace(frame, event: str, _):
        if frame.f_code.co_filename == HERE and frame.f_code.co_name == "fall":
            if event == "line":
                walked.append(frame.f_lineno)
            return trace
        return None

    sim = wl.Simulation(YARD, 1, "python", seed=0, counts={"Ball": 1})
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        sim.step()
    finally:
        sys.settrace(before)
    wanted = [
        line_of(text)
        for text in (
            "speed = world.gravity * 2.0",
            "new_height = ball.height - halve(speed)",
            "ball.height = new_height",
        )
    ]
    assert [line for line in dict.fromkeys(walked) if line in wanted] == wanted


def test_compiled_systems_leave_breakpoints_and_prints_out(stops: list, capsys: pytest.CaptureFixture[str]) -> None:
    sim, slow = wl.Simulation(YARD, 3, "cpu", seed=0), wl.Simulation(YARD, 3, "python", seed=0)
    actions = np.array([[0, 1], [1, 0], [1, 1]], np.int32)
    sim.step(actions)
    sim.step(actions)
    assert stops == [] and "bounce" not in capsys.readouterr().out
    slow.step(actions)
    slow.step(actions)
    for table in sim.tables.values():
        for column in table:
            np.testing.assert_array_equal(
                column.numpy(), slow.tables[table.table_name][column.field.name].numpy(), err_msg=column.name
            )


def test_an_error_in_a_system_shows_the_users_file(stops: list, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_, **__) -> None:
        raise RuntimeError("stop here")

    monkeypatch.setattr(sys, "breakpointhook", fail)
    with pytest.raises(RuntimeError, match="stop here") as caught:
        wl.Simulation(YARD, 2, "python", seed=0).step()
    places = [(entry.path, entry.lineno + 1) for entry in caught.traceback]
    assert (Path(HERE), line_of("breakpoint()")) in places


def test_a_helper_is_an_ordinary_function() -> None:
    assert halve(3.0) == 1.5 and isinstance(halve(3.0), np.float32)


def test_a_tracer_meets_the_lines_in_order() -> None:
    """Every line of a branch-free system runs once, in file order: generated code has the right line numbers."""
    walked: list[int] = []

    def trace(frame, event: str, _):
        if frame.f_code.co_filename == HERE and frame.f_code.co_name == "drift":
            if event == "line":
                walked.append(frame.f_lineno)
            return trace
        return None

    sim = wl.Simulation(DRIFT, 1, "python", seed=0)
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        sim.step()
    finally:
        sys.settrace(before)
    assert walked[1:] == sorted(walked[1:]) and len(set(walked[1:])) == 4
