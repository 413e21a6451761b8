"""The folder of a run: what is written, what is cut off on resuming, and what is refused."""

import json
import math
import subprocess
import sys

import pytest
import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.runs import run_folder
from worldloom.learn.runs.run_folder import RunFolder, default_folder, holds_run, launched_by, read_config, read_metrics
from worldloom.learn.training.progress import METRICS, Progress, by_policy, format_duration, format_progress


def progress(iteration, **metrics):
    return Progress(
        iteration,
        100 * iteration,
        1000,
        0.5 * iteration,
        200.0,
        {"episode/return": float(iteration), **metrics},
        {"update": 1.0},
    )


def save(folder, iteration):
    return folder.checkpoints.save({"w": torch.ones(1)}, {}, iteration=iteration, steps=100 * iteration)


def scalars(path, name):
    """(step, value) of every event that TensorBoard shows."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator").EventAccumulator(
        str(path / "events")
    )
    accumulator.Reload()
    return [(event.step, event.value) for event in accumulator.Scalars(name)]


def test_a_new_run_is_written_down(tmp_path, monkeypatch):
    monkeypatch.setattr(run_folder, "EVENTS_EVERY_S", 0.0)
    path = tmp_path / "runs" / "one"
    with RunFolder(path, {"seed": 3, "world": "CartPole-v1"}) as folder:
        assert (folder.resumed_from, folder.iteration, folder.steps) == (None, 0, 0)
        folder.write(progress(1, **{"update/kl": math.nan, "loss/value": math.inf}))
        assert len((path / "metrics.jsonl").read_text().splitlines()) == 1, "each line is there at once"
        folder.write(progress(2, **{"update/kl": 0.25}))
    assert read_config(path) == {"seed": 3, "world": "CartPole-v1"}
    first, second = (path / "metrics.jsonl").read_text().splitlines()
    expected = {
        "iteration": 1,
        "steps": 100,
        "seconds": 0.5,
        "steps_per_second": 200.0,
        "episode/return": 1.0,
        "update/kl": None,
        "loss/value": None,
    }
    assert json.loads(first) == expected
    assert json.loads(second)["update/kl"] == 0.25
    rows = read_metrics(path)
    assert math.isnan(rows[0]["update/kl"]) and rows[1]["episode/return"] == 2.0
    assert rows[1:] == read_metrics(path / "metrics.jsonl")[1:]
    assert scalars(path, "episode/return") == [(100, 1.0), (200, 2.0)]
    assert scalars(path, "update/kl") == [(200, 0.25)]
    assert scalars(path, "time/share_update") == [(100, 1.0), (200, 1.0)]


def test_short_iterations_make_few_events_but_the_last_is_among_them(tmp_path, monkeypatch):
    monkeypatch.setattr(run_folder, "EVENTS_EVERY_S", 3600.0)
    with RunFolder(tmp_path, {}) as folder:
        for i in range(1, 6):
            folder.write(progress(i))
    assert scalars(tmp_path, "episode/return") == [(100, 1.0), (500, 5.0)]
    assert len(read_metrics(tmp_path)) == 5


def test_resuming_drops_what_came_after_the_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(run_folder, "EVENTS_EVERY_S", 0.0)
    with RunFolder(tmp_path, {"total": 1}) as folder:
        for i in range(1, 6):
            folder.write(progress(i))
            if i == 3:
                save(folder, i)
    with open(tmp_path / "metrics.jsonl", "a") as file:
        file.write('{"iteration": 6, "ste')
    (tmp_path / "checkpoints" / ".writing_iteration_00000006").mkdir()
    with RunFolder(tmp_path, {"total": 2}, resume=True) as folder:
        assert (folder.resumed_from, folder.iteration, folder.steps) == (
            tmp_path / "checkpoints" / "iteration_00000003",
            3,
            300,
        )
        assert [row["iteration"] for row in read_metrics(tmp_path)] == [1, 2, 3]
        folder.write(progress(4, **{"update/kl": 0.5}))
    assert [row["iteration"] for row in read_metrics(tmp_path)] == [1, 2, 3, 4]
    assert read_metrics(tmp_path)[-1]["update/kl"] == 0.5
    assert read_config(tmp_path) == {"total": 2}
    assert [step for step, _ in scalars(tmp_path, "episode/return")] == [100, 200, 300, 400]
    seconds = [path.name.split(".")[3] for path in (tmp_path / "events").iterdir()]
    assert len(set(seconds)) == 2, "TensorBoard reads the files by name, and the second decides before all else"
    assert sorted(p.name for p in tmp_path.iterdir()) == [
        ".lock",
        "checkpoints",
        "config.json",
        "events",
        "metrics.jsonl",
    ]
    assert [p.name for p in (tmp_path / "checkpoints").iterdir()] == ["iteration_00000003"]


def test_a_run_without_a_checkpoint_resumes_from_the_start(tmp_path):
    with RunFolder(tmp_path, {}) as folder:
        folder.write(progress(1))
    with RunFolder(tmp_path, {}, resume=True) as folder:
        assert (folder.resumed_from, folder.iteration) == (None, 0)
        assert read_metrics(tmp_path) == []


def test_folders_are_not_mixed_up(tmp_path):
    with RunFolder(tmp_path, {}):
        pass
    assert holds_run(tmp_path) and not holds_run(tmp_path / "other")
    with pytest.raises(InputError, match=r"already holds a run: give --resume to continue it, or another folder$"):
        RunFolder(tmp_path, {})
    with pytest.raises(InputError, match=r"other holds no run that could be resumed: it has no config.json$"):
        RunFolder(tmp_path / "other", {}, resume=True)
    assert not (tmp_path / "other").exists()
    with pytest.raises(
        InputError, match="the configuration of a run must be what JSON can hold: Object of type device"
    ):
        RunFolder(tmp_path / "other", {"device": torch.device("cpu")})
    assert not holds_run(tmp_path / "other")


HOLDER = """
import sys, time
from worldloom.learn.runs.run_folder import RunFolder
folder = RunFolder(sys.argv[1], {}, resume=True, launch="theirs")
print("open", flush=True)
time.sleep(600)
"""


def test_a_folder_is_written_by_one_process_until_it_ends(tmp_path, monkeypatch):
    pytest.importorskip("fcntl")
    monkeypatch.setattr(run_folder, "LOCK_WAIT_S", 0.0)
    with RunFolder(tmp_path, {"total": 1}) as folder:
        folder.write(progress(1))
        save(folder, 1)
    with subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True) as other:
        try:
            assert other.stdout.readline() == "open\n"
            for resume in (True, False):
                with pytest.raises(InputError, match="another process is training in"):
                    RunFolder(tmp_path, {"total": 2}, resume=resume, launch="ours")
            assert launched_by(tmp_path) == "theirs" and read_config(tmp_path) == {}
        finally:
            other.kill()
    monkeypatch.undo()
    with RunFolder(tmp_path, {"total": 3}, resume=True) as folder:
        assert folder.iteration == 1 and launched_by(tmp_path) == ""


def test_a_folder_that_could_not_be_opened_is_free(tmp_path, monkeypatch):
    monkeypatch.setattr(run_folder, "LOCK_WAIT_S", 0.0)
    with pytest.raises(InputError, match="what JSON can hold") as kept:
        RunFolder(tmp_path, {"device": torch.device("cpu")})
    with RunFolder(tmp_path, {}):
        assert kept.value is not None


def test_where_there_are_no_locks_the_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with RunFolder(tmp_path, {}) as folder:
        folder.write(progress(1))
    assert len(read_metrics(tmp_path)) == 1


def test_files_that_no_run_wrote_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"holds no run: it has no config.json"):
        read_config(tmp_path)
    with pytest.raises(InputError, match=r"there are no metrics in .*: no file metrics.jsonl"):
        read_metrics(tmp_path)
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(InputError, match=r"config.json is not a complete JSON document"):
        read_config(tmp_path)
    (tmp_path / "config.json").write_text("3")
    with pytest.raises(InputError, match=r"config.json does not hold a JSON object"):
        read_config(tmp_path)
    (tmp_path / "metrics.jsonl").write_text('{"iteration": 1}\nnonsense\n{"iteration": 2}\n')
    with pytest.raises(InputError, match=r"metrics.jsonl, line 2, is not a row of metrics"):
        read_metrics(tmp_path)


@pytest.mark.parametrize("end", ['{"iteration": 2, "st', "\0\0\0", ""])
def test_an_unfinished_last_line_is_dropped(tmp_path, end):
    (tmp_path / "metrics.jsonl").write_text('{"iteration": 1}\n' + end)
    assert read_metrics(tmp_path) == [{"iteration": 1}]


@pytest.mark.parametrize("line", ["garbage", "\0\0\0", '{"iteration": 2, "st'])
def test_a_complete_line_that_is_no_row_is_refused(tmp_path, line):
    (tmp_path / "metrics.jsonl").write_text(f'{{"iteration": 1}}\n{line}\n')
    with pytest.raises(InputError, match=r"metrics\.jsonl, line 2, is not a row of metrics"):
        read_metrics(tmp_path)


def test_default_folders_are_numbered(tmp_path):
    made = [default_folder("CartPole-v1", "ppo", 7, tmp_path) for _ in range(2)]
    assert made == [tmp_path / "CartPole-v1-ppo-s7-1", tmp_path / "CartPole-v1-ppo-s7-2"]
    assert default_folder("ponds/pond.py:Pond v0", "a2c", 0, tmp_path).name == "ponds_pond.py_Pond_v0-a2c-s0-1"
    with RunFolder(made[0], {}):
        assert holds_run(made[0]), "a folder that was made for the run is not taken for a run"


def test_without_tensorboard_the_run_goes_on(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    with (
        pytest.warns(UserWarning, match="no TensorBoard events are written: pip install tensorboard adds them") as said,
        RunFolder(tmp_path, {}) as folder,
    ):
        folder.write(progress(1))
        folder.write(progress(2))
    assert len(said) == 1
    assert len(read_metrics(tmp_path)) == 2 and not (tmp_path / "events").exists()


def test_progress_in_one_plain_line():
    assert (
        format_progress(progress(4, **{"update/kl": 0.01234}))
        == "iteration 4, 400 of 1,000 steps (40%), 200 steps/s, return 4, KL 0.01234, 0:03 left"
    )
    two = {"episode/return/hider": 1.5, "episode/return/seeker": -1.5, "episode/length/hider": math.nan}
    assert (
        format_progress(Progress(1, 5, 10, 1.0, 0.0, two))
        == "iteration 1, 5 of 10 steps (50%), 0 steps/s, return 1.5 (hider) -1.5 (seeker), -:-- left"
    )


def test_metrics_by_policy():
    assert by_policy(dict.fromkeys(METRICS, 0.0)) == {"": dict.fromkeys(METRICS, 0.0)}
    named = {"update/kl/red/left": 1.0, "update/kl/blue": 2.0, "mine": 3.0}
    assert by_policy(named) == {"red/left": {"update/kl": 1.0}, "blue": {"update/kl": 2.0}, "": {"mine": 3.0}}


def test_clock_and_edges():
    assert [format_duration(s) for s in (0, 59.6, 3723, math.nan, math.inf)] == [
        "0:00",
        "1:00",
        "1:02:03",
        "-:--",
        "-:--",
    ]
    assert (Progress(1, 20, 10, 1.0, 5.0).fraction, Progress(1, 20, 10, 1.0, 5.0).seconds_left) == (1.0, 0.0)


def test_a_folder_that_cannot_be_made_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be used as a run's folder"):
        RunFolder(tmp_path / "file" / "run", {})
