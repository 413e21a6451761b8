"""Damaged checkpoints on the command line: one plain line per checkpoint, and the reason where none can be used."""

import json
import os
import shutil

import pytest

from worldloom.learn.runs.checkpoint_files import STATE, TENSORS

pytestmark = pytest.mark.usefixtures("without_curves")


@pytest.fixture
def run(trained, tmp_path):
    """A copy of a run with two checkpoints, the last one damaged."""
    folder = tmp_path / "run"
    shutil.copytree(trained, folder)
    (last,) = sorted((folder / "checkpoints").glob("iteration_*"))[-1:]
    state = json.loads((last / STATE).read_text())
    earlier = last.with_name(f"iteration_{state['iteration'] - 1:08d}")
    shutil.copytree(last, earlier, dirs_exist_ok=True)
    plain = {**state["state"], "iteration": state["iteration"] - 1, "steps": 256}
    changed = {**state, "iteration": state["iteration"] - 1, "steps": 256, "state": plain}
    (earlier / STATE).write_text(json.dumps(changed))
    os.truncate(last / TENSORS, 100)
    return folder


def test_eval_prints_one_plain_line_for_a_skipped_checkpoint(worldloom, run):
    code, _, err = worldloom("eval", run, "--episodes", "2")
    assert code == 0
    lines = [line for line in err.splitlines() if "skipped" in line]
    assert len(lines) == 1 and lines[0].startswith("worldloom: skipped: checkpoint ")
    assert "has 100 bytes instead of" in lines[0]
    assert "UserWarning" not in err and ".py:" not in err


def test_resuming_prints_one_plain_line_for_a_skipped_checkpoint(worldloom, run):
    code, _, err = worldloom("train", "--run-dir", run, "--resume", "--total-steps", "768", "--no-video", "--quiet")
    assert code == 0
    lines = [line for line in err.splitlines() if "skipped" in line]
    assert len(lines) == 1 and "UserWarning" not in err and ".py:" not in err


def test_the_error_names_the_reason_where_no_checkpoint_can_be_read(worldloom, run):
    for path in (run / "checkpoints").glob("iteration_*"):
        state = json.loads((path / STATE).read_text())
        (path / STATE).write_text(json.dumps({**state, "format": 2}))
    code, _, err = worldloom("eval", run)
    assert code == 2 and "UserWarning" not in err
    assert "has no checkpoint that can be read" in err and "update worldloom" in err


def test_an_invalid_setting_is_reported_with_its_file(worldloom, run):
    config = json.loads((run / "config.json").read_text())
    config["config"]["num_envs"] = -5
    (run / "config.json").write_text(json.dumps(config))
    for command in (("eval", run), ("train", "--run-dir", run, "--resume")):
        code, _, err = worldloom(*command)
        assert code == 2 and "config.json cannot be used: num_envs must be 1 or more, not -5" in err.replace("\n", "")
