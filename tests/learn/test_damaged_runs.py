"""Runs with unreadable or hostile checkpoints are refused, and no byte of them changes."""

import hashlib
import json
import os
import shutil
import warnings
from dataclasses import replace

import pytest
import safetensors.torch
from finished_runs import checkpoints, contents, edit, refused

from worldloom.core.base.errors import InputError
from worldloom.learn.runs.checkpoint_files import STATE, TENSORS
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.run_folder import read_config, read_metrics
from worldloom.learn.runs.saved_run import open_run
from worldloom.learn.runs.training_run import run_training

# -- no checkpoint that can be read ----------------------------------------------------------------------------------


def make_newer(path):
    edit(path, format=2)


def cut(path):
    os.truncate(path / TENSORS, 100)


def unreadable(path):
    (path / STATE).unlink()
    (path / STATE).mkdir()


def without_state(path):
    (path / STATE).unlink()


def not_a_folder(path):
    shutil.rmtree(path)
    path.write_text("")


def nested(path):
    (path / STATE).write_text("[" * 100_000)


def endless(path):
    edit(path, iteration=float("inf"))


def many_digits(path):
    edit(path, score=10**400)


def renamed(path):
    edit(path, iteration=77)


SPOILT = {
    make_newer: "has format 2, and this version of worldloom reads up to 1: update worldloom",
    cut: (
        "no checkpoint in .* can be read, so the run cannot be resumed and was not changed: .* has 100 bytes instead of"
    ),
    unreadable: "was not changed: .*state.json cannot be read",
    without_state: "was not changed: .*state.json cannot be read",
    not_a_folder: "was not changed: .*it is not a folder",
    nested: "was not changed: .*state.json is not a complete JSON document",
    endless: "was not changed: .*state.json lacks a value that every checkpoint has",
    many_digits: "was not changed: .*state.json lacks a value that every checkpoint has",
    renamed: "was not changed: .*state.json is that of iteration 77",
}


@pytest.mark.parametrize("spoil", SPOILT, ids=lambda spoil: spoil.__name__)
def test_a_run_without_a_readable_checkpoint_stays_as_it_is(run, spoil):
    folder, request = run
    for path in checkpoints(folder):
        spoil(path)
    refused(request, SPOILT[spoil])
    refused(replace(request, resume="auto"), SPOILT[spoil])


def test_a_later_checkpoint_of_a_newer_version_is_not_lost(run):
    folder, request = run
    make_newer(checkpoints(folder)[-1])
    refused(request, "iteration_00000003 has format 2, .*: update worldloom")


def test_a_later_checkpoint_that_cannot_be_read_is_set_aside(run):
    folder, request = run
    last = checkpoints(folder)[-1]
    cut(last)
    before = contents(last)
    with pytest.warns(UserWarning, match="skipped: checkpoint .*iteration_00000003 cannot be used"):
        outcome = run_training(request)
    assert outcome.complete and [row["iteration"] for row in read_metrics(folder)] == [1, 2, 3, 4]
    (aside,) = (folder / "checkpoints").glob("unreadable_iteration_00000003_*")
    assert contents(aside) == before
    assert Checkpoints(folder / "checkpoints").latest().name == "iteration_00000004"


def test_leftovers_are_only_swept_once_the_run_goes_on(run):
    folder, request = run
    (folder / "checkpoints" / ".writing_iteration_00000009").mkdir()
    (folder / ".config.0123456789abcdef.writing.json").write_text("half")
    kept = [path for path in checkpoints(folder) if path.name.startswith("iteration")]
    shutil.copytree(kept[-1], folder / "checkpoints" / ".replaced_iteration_00000003")
    for path in kept:
        cut(path)
    refused(request, "was not changed")
    shutil.rmtree(kept[-1])
    outcome = run_training(request)
    assert outcome.iteration == 4, "it went on from the checkpoint that was about to be replaced"
    assert not [path for path in folder.rglob(".*") if path.name != ".lock"]


def test_a_folder_that_lost_its_settings_is_not_taken_for_a_new_run(run):
    folder, request = run
    (folder / "config.json").unlink()
    refused(replace(request, resume="auto"), r"has the metrics\.jsonl of a run, but no config.json")
    (folder / "metrics.jsonl").unlink()
    refused(replace(request, resume="no"), "has the checkpoints of a run, but no config.json")


def test_metrics_that_cannot_be_read_are_refused_before_anything_changes(run):
    folder, request = run
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    for wrong in (
        "nonsense",
        '{"iteration": 2, "steps": "many"}',
        '{"iteration": true}',
        "[" * 5000,
        '{"iteration": 1, "seconds": 1' + "0" * 400 + "}",
    ):
        (folder / "metrics.jsonl").write_text("\n".join([lines[0], wrong, lines[2]]) + "\n")
        refused(request, r"metrics\.jsonl, line 2, is not a row of metrics")


def test_metrics_replaced_by_garbage_are_refused_on_resume(run):
    folder, request = run
    (folder / "metrics.jsonl").write_text("garbage\n")
    refused(request, r"run/metrics\.jsonl, line 1, is not a row of metrics")


@pytest.mark.parametrize("name, value", [("num_envs", -5), ("gamma", 7.0), ("learning_rate", "fast")])
def test_an_invalid_setting_is_refused_with_the_name_of_the_file(run, name, value):
    folder, _ = run
    config = read_config(folder)
    config["config"][name] = value
    (folder / "config.json").write_text(json.dumps(config))
    with pytest.raises(InputError, match=rf"run/config\.json cannot be used: .*{name}.*{value}"):
        open_run(folder)


@pytest.mark.parametrize("checkpoint", ["last", "best"])
@pytest.mark.parametrize(
    "spoil, reason", [(make_newer, "has format 2, .*: update worldloom"), (cut, "has 100 bytes instead of")]
)
def test_a_run_without_a_readable_checkpoint_cannot_be_opened(run, spoil, reason, checkpoint):
    folder, _ = run
    for path in checkpoints(folder):
        spoil(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(InputError, match=rf"has no checkpoint that can be read: checkpoint .*{reason}"):
            open_run(folder, checkpoint)


def test_the_files_of_a_checkpoint_have_the_same_mode(run):
    folder, _ = run
    for path in checkpoints(folder):
        assert (path / TENSORS).stat().st_mode == (path / STATE).stat().st_mode


# -- what a hostile checkpoint holds ---------------------------------------------------------------------------------


def reseal(folder, change):
    """Alter the tensors of every checkpoint, and its digest with them."""
    for path in checkpoints(folder):
        tensors = safetensors.torch.load_file(path / TENSORS)
        change(tensors)
        safetensors.torch.save_file(tensors, path / TENSORS)
        data = (path / TENSORS).read_bytes()
        edit(path, tensors={"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})


HOSTILE = [
    ("ppo", lambda t: t.pop("Cart/policy/network.actor.weight"), "has no 'policy/network.actor.weight'"),
    ("ppo", lambda t: t.update({"Cart/sampler": t["Cart/sampler"].float()}), "'sampler' of shape .* and type float32"),
    (
        "ppo",
        lambda t: t["Cart/policy/network.actor.weight"].fill_(float("nan")),
        "'policy/network.actor.weight' .* is not finite",
    ),
    ("ppo", lambda t: t["Cart/optimizer/square"].fill_(-1.0), "'optimizer/square' .* is not between"),
    ("dqn", lambda t: t["Cart/rows/replay/cursor"].fill_(-7), "'rows/replay/cursor' .* is not between 0 and"),
    ("dqn", lambda t: t["Cart/rows/replay/actions"].fill_(2), "'rows/replay/actions' .* is not between 0 and 1"),
    (
        "dqn",
        lambda t: t["Cart/rows/replay/priorities.priorities"].fill_(float("nan")),
        "priorities.priorities' .* is not between",
    ),
    ("vtrace", lambda t: t["window/Cart/first"].fill_(8), "'first' .* is not between 0 and 7"),
    ("vtrace", lambda t: t["window/Cart/actions"].fill_(-1), "'actions' .* is not between 0 and 1"),
    ("vtrace", lambda t: t.pop("turn"), "has no 'turn'"),
]


@pytest.mark.parametrize(
    "algorithm, change, match", HOSTILE, ids=[f"{algorithm}-{match[:30]}" for algorithm, _, match in HOSTILE]
)
def test_tensors_that_no_training_saves_are_refused(originals, tmp_path, algorithm, change, match):
    folder, request = originals[algorithm]
    shutil.copytree(folder, tmp_path / "run")
    reseal(tmp_path / "run", change)
    refused(replace(request, run_dir=tmp_path / "run"), match)


def test_padding_of_priorities_is_never_drawn(originals, tmp_path):
    folder, request = originals["dqn"]
    shutil.copytree(folder, tmp_path / "run")
    reseal(
        tmp_path / "run", lambda t: t["Cart/rows/replay/priorities.priorities"][-1, 80:].fill_(1e6)
    )  # 200 places fill a block and 72 of the next
    assert run_training(replace(request, run_dir=tmp_path / "run")).complete


@pytest.mark.parametrize(
    "name, value",
    [
        ("steps", "many"),
        ("steps", -1),
        ("iteration", 2**80),
        ("seconds", float("nan")),
        ("seconds", 10**400),
        ("recent", 5),
        ("recent", {"Cart": [[1.0, 2.0]]}),
        ("recent", {"Cart": [["a", 2.0, 3.0]]}),
        ("finished", {"Cart": float("inf")}),
        ("faults", None),
    ],
)
def test_a_state_that_no_training_saves_is_refused(run, name, value):
    folder, request = run
    for path in checkpoints(folder):
        state = json.loads((path / STATE).read_text())["state"]
        edit(path, state=state | {name: value})
    refused(request, "the saved training lacks a value that every training saves")


def test_hostile_settings_are_told(run):
    folder, _ = run
    (folder / "config.json").write_text("[" * 100_000)
    with pytest.raises(
        InputError, match=r"config\.json is not a complete JSON document: its values are nested too deeply"
    ):
        read_config(folder)
    (folder / "config.json").write_text("[" * 100 + "]" * 100)
    with pytest.raises(InputError, match="nested more than 32 deep"):
        read_config(folder)
