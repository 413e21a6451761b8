"""Runs with unreadable checkpoints are refused and kept; links in a folder are never followed; a full disk is told."""

import hashlib
import itertools
import json
import os
import shutil
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
import safetensors.torch
import torch

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.dqn import DQNConfig
from worldloom.learn.algorithms.ppo import PPOConfig
from worldloom.learn.algorithms.vtrace import VTraceConfig
from worldloom.learn.config.policy_config import PolicyConfig
from worldloom.learn.play.saved_run import open_run
from worldloom.learn.runs.checkpoint_files import STATE, TENSORS
from worldloom.learn.runs.checkpoints import Checkpoints
from worldloom.learn.runs.run_folder import RunFolder, read_config, read_metrics
from worldloom.learn.runs.training_run import TrainingRequest, run_training
from worldloom.learn.training.progress import Progress

NETWORK = PolicyConfig(hidden=(8,))
SETTINGS = {
    "ppo": PPOConfig(num_envs=4, num_steps=8, minibatches=2, device="cpu", total_steps=96, policy=NETWORK),
    "dqn": DQNConfig(
        num_envs=4,
        device="cpu",
        total_steps=96,
        learning_starts=32,
        batch_size=8,
        replay_capacity=200,
        prioritized=True,
        policy=NETWORK,
    ),
    "vtrace": VTraceConfig(
        num_envs=4, num_steps=8, steps_per_update=4, batches=2, device="cpu", total_steps=96, policy=NETWORK
    ),
}
PRECIOUS = "somebody else's file\n"


def trained(folder, algorithm="ppo"):
    """A run of 96 steps in ``folder``, with three checkpoints or more, and the request that goes on with it."""
    request = TrainingRequest(
        "CartPole-v1", algorithm, SETTINGS[algorithm], run_dir=folder, checkpoint_every=1e-6, keep=3
    )
    run_training(request)
    return replace(request, resume="yes", config=replace(request.config, total_steps=128))


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    """A finished run of each algorithm, copied by the tests."""
    found = {}
    for algorithm in SETTINGS:
        folder = tmp_path_factory.mktemp("originals") / algorithm
        found[algorithm] = folder, trained(folder, algorithm)
    return found


@pytest.fixture
def run(originals, tmp_path):
    """A copy of the PPO run: its folder, and the request that goes on with it."""
    folder, request = originals["ppo"]
    shutil.copytree(folder, tmp_path / "run")
    return tmp_path / "run", replace(request, run_dir=tmp_path / "run")


def contents(folder):
    """Every file, folder and link below ``folder``, with what it holds."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        found[name] = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
    return found


def refused(request, match):
    """Resuming raises an InputError of one line, and no byte of the folder changes."""
    before = contents(request.run_dir)
    with pytest.raises(InputError, match=match) as caught, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run_training(request)
    assert "\n" not in str(caught.value)
    assert contents(request.run_dir) == before


def checkpoints(folder):
    return sorted((folder / "checkpoints").iterdir())


def edit(path, **changes):
    data = json.loads((path / STATE).read_text())
    (path / STATE).write_text(json.dumps(data | changes))


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


# -- links -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def precious(tmp_path_factory):
    """A file and a folder elsewhere, which must never change."""
    place = tmp_path_factory.mktemp("elsewhere")
    (place / "precious.txt").write_text(PRECIOUS)
    return place


def test_the_old_temporary_name_leads_nowhere(run, precious):
    folder, request = run
    for name in (".config.json.writing", ".metrics.jsonl.writing"):
        (folder / name).symlink_to(precious / "precious.txt")
    assert run_training(request).complete
    assert contents(precious) == {"precious.txt": PRECIOUS.encode()}


@pytest.mark.parametrize("name", ["config.json", "metrics.jsonl", ".lock", ".launch", "events", "checkpoints"])
@pytest.mark.parametrize("dangling", [False, True])
def test_links_in_the_place_of_files_are_refused(run, precious, name, dangling):
    folder, request = run
    moved = precious / "moved"
    if (folder / name).exists():
        os.rename(folder / name, moved)
    else:
        moved.write_text("")
    (folder / name).symlink_to(precious / "absent" if dangling else moved)
    before = contents(precious)
    match = "there is no run to resume" if name == "config.json" and dangling else "symbolic link"
    refused(request, match)
    assert contents(precious) == before


@pytest.mark.parametrize(
    "name",
    [
        "iteration_00000003",
        "iteration_00000099",
        ".writing_iteration_00000004",
        ".dropped_x",
        ".replaced_iteration_00000009",
    ],
)
def test_links_below_checkpoints_are_told(run, precious, name):
    folder, request = run
    place = folder / "checkpoints" / name
    if place.exists():
        os.rename(place, precious / "moved")
    place.symlink_to(precious)
    before = contents(precious)
    refused(request, f"{name} is a symbolic link, which a run's folder must not have")
    assert contents(precious) == before


@pytest.mark.parametrize("name", [STATE, TENSORS])
def test_links_within_a_checkpoint_are_told(run, precious, name):
    folder, request = run
    for path in checkpoints(folder):
        os.rename(path / name, precious / f"{path.name}_{name}")
        (path / name).symlink_to(precious / f"{path.name}_{name}")
    refused(request, rf"was not changed: .*{name} cannot be read \(it is a symbolic link\)")


# -- a full disk -----------------------------------------------------------------------------------------------------


def test_a_full_disk_at_a_checkpoint_is_told_in_one_sentence(tmp_path, monkeypatch):
    saved = Checkpoints(tmp_path)
    saved.save({"w": torch.zeros(1000)}, {}, iteration=1, steps=1)
    before = contents(tmp_path)

    def full(tensors, path):
        path.write_bytes(b"half")
        raise safetensors.SafetensorError(
            'Error while serializing: IoError(Os { code: 28, kind: StorageFull, message: "No space left on device" })'
        )

    monkeypatch.setattr(safetensors.torch, "save_file", full)
    with pytest.raises(InputError) as caught:
        saved.save({"w": torch.zeros(1000)}, {}, iteration=2, steps=2)
    sentence = str(caught.value)
    assert (
        sentence.startswith(f"checkpoint {tmp_path / 'iteration_00000002'} cannot be written (")
        and "No space left on device" in sentence
    )
    assert (
        "4,000 bytes are needed and " in sentence
        and " bytes are free on the disk of " in sentence
        and "\n" not in sentence
    )
    assert contents(tmp_path) == before


def test_a_full_disk_while_metrics_are_written_is_told(tmp_path):
    folder = RunFolder(tmp_path / "run", {})
    os.dup2(os.open("/dev/full", os.O_WRONLY), folder._metrics.fileno())
    match = (
        r"metrics\.jsonl cannot be written \(No space left on device\): "
        r"\d+ bytes are needed and [\d,]+ bytes are free"
    )
    with pytest.raises(InputError, match=match), folder:
        folder.write(Progress(1, 10, 100, 1.0, 10.0, {}))
    with RunFolder(tmp_path / "run", {}, resume=True):
        pass


def test_the_training_ends_in_good_order_on_a_full_disk(tmp_path, monkeypatch):
    """What was saved before stays, and goes on once there is room."""
    request = TrainingRequest("CartPole-v1", "ppo", SETTINGS["ppo"], run_dir=tmp_path / "run", checkpoint_every=1e-6)
    attempts = itertools.count(1)

    def full_at_the_second(tensors, path):
        if next(attempts) == 2:
            raise OSError(28, "No space left on device")
        Path(path).write_bytes(safetensors.torch.save(tensors))

    with monkeypatch.context() as patch:
        patch.setattr(safetensors.torch, "save_file", full_at_the_second)
        with pytest.raises(InputError, match=r"checkpoint .*iteration_00000002 cannot be written"):
            run_training(request)
    outcome = run_training(replace(request, resume="yes"))
    assert outcome.complete and [row["iteration"] for row in read_metrics(tmp_path / "run")] == [1, 2, 3]
