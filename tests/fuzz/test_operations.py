"""Random operations on simulations: a small sample on fixed seeds. The command runs thousands of them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tyro
from thorough import only_thorough, sample

import worldloom as wl
from worldloom.core.state import columns, copy_mixin, snapshot
from worldloom.testing.operations import OPERATIONS, Subject, draw, run, shrink
from worldloom.testing.operations.command import Operations
from worldloom.testing.operations.operation import Operation
from worldloom.testing.operations.worlds import BUNDLED, WORLDS

COMPILED = [
    ("orchard-drop", 1),
    ("orchard-error", 5),
    ("team", 2),
    ("random", 12),
    ("orchard-drop-pooled", 8),
    ("orchard-reset-count_calls", 10),
    ("orchard-reset-crowd", 9),
    ("random", 13),
    *((world, 14 + number) for number, world in enumerate(BUNDLED)),
]


@pytest.fixture(autouse=True)
def quick(quick_compilation: None) -> None:
    """Time goes to the compiler, and results are the same bits."""


@pytest.mark.parametrize(("world", "seed"), sample(COMPILED, 4))
def test_operations_do_the_same_on_the_interpreter_and_compiled(world: str, seed: int, tmp_path: Path):
    assert run(draw(seed, 30, world), ("python", "cpu"), tmp_path) is None


@only_thorough  # compiles for twelve seconds
def test_operations_on_rigid_bodies(tmp_path: Path):
    assert run(draw(5, 5, "yard"), ("python", "cpu"), tmp_path) is None


def test_operations_on_the_text_of_cuda_kernels(tmp_path: Path):
    """Worlds that share rows, whose kernels take whole warps."""
    assert run(draw(7, 5, "orchard-drop-pooled"), ("python", "cuda-text"), tmp_path) is None


def test_every_public_method_is_an_operation():
    """Those of a simulation and of a snapshot; the others are reached by an operation of another name."""
    reached = {
        "step", "reset", "run_step", "enqueue_step", "snapshot", "restore", "copy_worlds", "set_config", "get_config",
        "use_options", "errors", "check_capacity", "close", "record", "explain", "profile", "tune", "columns",
    }  # fmt: skip
    methods = {name for name in dir(wl.Simulation) if callable(getattr(wl.Simulation, name)) and name[0] != "_"}
    assert methods == reached | {"note_external_change"}
    counts = {name: 0 for name in OPERATIONS}
    for seed in range(20):
        for name, _ in draw(seed, 100).operations:
            counts[name] += 1
    assert min(counts.values()) > 0 and sum(counts.values()) == 2000
    assert {draw(seed, 1).world for seed in range(300)} == {*WORLDS, *BUNDLED, "random"}


def test_the_same_seed_gives_the_same_operations():
    assert draw(7, 20) == draw(7, 20) != draw(8, 20)


def test_a_difference_is_found_and_shrunk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """On one variant a reset starts with one more in a column."""
    right = OPERATIONS["reset"]

    def wrong(subject: Subject, rng: np.random.Generator) -> Any:
        right.apply(subject, rng)
        if subject.variant == "python-exact":
            subject.simulation.world.moves.torch()[0] += 1

    monkeypatch.setitem(OPERATIONS, "reset", Operation(wrong, right.weight))
    failure = run(draw(3, 60, "team"), ("python", "python-exact"), tmp_path)
    assert failure is not None and failure.sequence.operations[-1][0] == "reset"
    small = shrink(failure, "python", tmp_path, 60.0)
    assert [name for name, _ in small.sequence.operations] == ["reset"]
    assert "worlds of team with seed 3, autoreset '" in str(small) and "0 reset: " in str(small)
    assert "python-exact: World.moves of world 0 is" in str(small)


def test_a_value_that_all_devices_forget_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Copies of worlds without a column, and states that are restored without it."""
    right = columns.state_columns
    forgetful = lambda simulation: {n: c for n, c in right(simulation).items() if n != "Player.pushes"}  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(columns, "state_columns", forgetful)  # which only copies of worlds use under this name
        failure = run(draw(1, 12, "team"), ("python",), tmp_path)
    assert failure is not None and failure.sequence.operations[-1][0] == "copy_worlds"
    assert "Player.pushes of world" in failure.text
    monkeypatch.setattr(snapshot, "scatter_rows", lambda target, worlds, rows: None)
    failure = run(draw(1, 12, "team"), ("python",), tmp_path)
    assert failure is not None and failure.sequence.operations[-1][0] == "restore"


def test_a_reset_of_other_worlds_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Every masked reset also resets the first world, on all devices."""
    right = wl.Simulation._reset_masked

    def wrong(self: wl.Simulation) -> None:
        self.world.reset_mask.torch()[0] = True
        right(self)

    monkeypatch.setattr(wl.Simulation, "_reset_masked", wrong)
    failure = run(draw(5, 8, "team"), ("python",), tmp_path)
    assert failure is not None and failure.sequence.operations[-1][0] in ("reset", "reset_with_seeds")


def test_a_copy_with_other_settings_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Copies count their worlds from another number than the original."""
    right = copy_mixin._rebuild

    def wrong(cls: Any, origin: Any, saved: Any, pristine: bool) -> wl.Simulation:
        return right(cls, replace(origin, arguments={**origin.arguments, "world_offset": 5}), saved, pristine)

    monkeypatch.setattr(copy_mixin, "_rebuild", wrong)
    failure = run(draw(3, 60, "team"), ("python",), tmp_path)
    assert failure is not None and failure.sequence.operations[-1][0] in ("deepcopy", "unpickle")
    assert "other settings" in failure.text


def test_the_command_prints_a_summary(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setenv("WARP_CACHE_PATH", str(tmp_path))  # the command sets it for its worker processes
    options = "--operations 12 --per-sequence 8 --seed 2 --world team --variants python,python-exact --json"
    code = tyro.cli(Operations, args=options.split()).run()
    report = json.loads(capsys.readouterr().out)
    assert (code, report["sequences"], report["operations"], report["failures"]) == (0, 2, 12, [])
    assert sum(report["counts"].values()) == 12 and report["worlds"] == {"team": 2}
