"""Checkpoints are whole or not there, the right ones are kept, and bad files are refused in one sentence."""

import hashlib
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch
from thorough import THOROUGH

from worldloom.core.base.errors import InputError
from worldloom.learn.runs.checkpoint_files import STATE, TENSORS, read_metadata, verify_checkpoint
from worldloom.learn.runs.checkpoints import Checkpoints

WRITER = Path(__file__).parent / "checkpoint_writer.py"
DIED = 7


def save(checkpoints, iteration, score=None, **options):
    return checkpoints.save(
        {"w": torch.full((3,), float(iteration))},
        {"lr": 0.1},
        iteration=iteration,
        steps=10 * iteration,
        score=score,
        **options,
    )


def iterations(checkpoints):
    return [read_metadata(path).iteration for path in checkpoints.all()]


def test_what_is_saved_is_loaded(tmp_path):
    shared = torch.arange(6.0)
    tensors = {
        "half": torch.tensor([1.5, -0.0, math.nan], dtype=torch.bfloat16),
        "flags": torch.tensor([[True], [False]]),
        "bytes": torch.tensor([0, 255], dtype=torch.uint8),
        "scalar": torch.tensor(7),
        "empty": torch.empty(0, 3),
        "shared": shared,
        "shared_too": shared,
        "part_of_shared": shared[2:4],
        "turned": shared.view(2, 3).T,
        "trained": torch.nn.Parameter(torch.ones(2)),
    }
    state = {"rate": 0.1, "worst": -math.inf, "names": ["a", "ü"], "none": None}
    checkpoints = Checkpoints(tmp_path / "deep" / "checkpoints")
    path = checkpoints.save(tensors, state, iteration=12, steps=345, score=1.25)
    assert path == tmp_path / "deep" / "checkpoints" / "iteration_00000012"
    loaded = checkpoints.load(path)
    assert (loaded.state, loaded.iteration, loaded.steps, loaded.score) == (state, 12, 345, 1.25)
    assert loaded.tensors.keys() == tensors.keys()
    for name, tensor in tensors.items():
        assert loaded.tensors[name].dtype == tensor.dtype
        assert torch.equal(loaded.tensors[name].nan_to_num(9), tensor.detach().nan_to_num(9)), name
    assert sorted(p.name for p in path.parent.iterdir()) == ["iteration_00000012"]


def test_the_last_and_the_best_are_kept(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    assert (checkpoints.all(), checkpoints.latest(), checkpoints.best()) == ([], None, None)
    for i, score in enumerate([1.0, 5.0, 5.0, math.nan, 2.0, None], start=1):
        save(checkpoints, i, score)
    assert iterations(checkpoints) == [3, 5, 6]
    assert checkpoints.latest().name == "iteration_00000006"
    assert checkpoints.best().name == "iteration_00000003", "the later one of two equals"
    assert read_metadata(checkpoints.latest()).score is None
    save(checkpoints, 7, 6.0)
    assert iterations(checkpoints) == [6, 7]


def test_a_run_that_goes_back_leaves_its_old_future(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=2)
    for i in (10, 20, 30):
        save(checkpoints, i, float(i))
    save(Checkpoints(tmp_path, keep=2), 25, 0.0)
    assert iterations(checkpoints) == [20, 25]


def test_the_same_iteration_is_replaced(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 3, 1.0)
    save(checkpoints, 3, 2.0)
    assert checkpoints.load(checkpoints.latest()).score == 2.0
    assert [p.name for p in tmp_path.iterdir()] == ["iteration_00000003"]


def cut_tensors(path):
    os.truncate(path / TENSORS, 20)


def flip_a_bit(path):
    data = bytearray((path / TENSORS).read_bytes())
    data[-1] ^= 1
    (path / TENSORS).write_bytes(data)


def cut_state(path):
    os.truncate(path / STATE, 40)


def change_state(path, **changes):
    data = json.loads((path / STATE).read_text()) | changes
    (path / STATE).write_text(json.dumps(data))


SPOILT = {
    "tensors cut short": (cut_tensors, "tensors.safetensors has 20 bytes instead of"),
    "tensors altered": (flip_a_bit, "tensors.safetensors was altered"),
    "no tensors": (
        lambda path: (path / TENSORS).unlink(),
        "tensors.safetensors cannot be read (No such file or directory)",
    ),
    "state cut short": (cut_state, "state.json is not a complete JSON document"),
    "state not text": (
        lambda path: (path / STATE).write_bytes(b"\xff\xfe\x00"),
        "state.json is not a complete JSON document",
    ),
    "no state": (lambda path: (path / STATE).unlink(), "state.json cannot be read (No such file or directory)"),
    "state a list": (
        lambda path: (path / STATE).write_text("[]"),
        "state.json lacks a value that every checkpoint has",
    ),
    "state without steps": (
        lambda path: change_state(path, steps=None),
        "state.json lacks a value that every checkpoint has",
    ),
}


@pytest.mark.parametrize("spoil, problem", SPOILT.values(), ids=SPOILT.keys())
def test_spoilt_files_are_refused_and_passed_over(tmp_path, spoil, problem):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 1, 1.0)
    last = save(checkpoints, 2, 2.0)
    spoil(last)
    with pytest.raises(InputError) as caught:
        checkpoints.load(last)
    message = str(caught.value)
    assert message.startswith(f"checkpoint {last} cannot be used, since {problem}") and message.endswith(
        ": use another one"
    )
    with pytest.warns(UserWarning, match="skipped: checkpoint .*iteration_00000002 cannot be used"):
        assert checkpoints.latest().name == "iteration_00000001"
    assert verify_checkpoint(tmp_path / "iteration_00000001").iteration == 1
    save(checkpoints, 2)
    assert checkpoints.latest().name == "iteration_00000002"


def test_scores_of_two_kinds_are_not_compared(tmp_path):
    checkpoints = Checkpoints(tmp_path, keep=1)
    save(checkpoints, 1, 500.0)
    save(checkpoints, 2, 3.0, evaluated=True)
    save(checkpoints, 3, 2.0, evaluated=True)
    save(checkpoints, 4, None, evaluated=True)
    assert checkpoints.best().name == "iteration_00000002" and iterations(checkpoints) == [2, 4]
    save(checkpoints, 5, 1.0)
    assert checkpoints.best().name == "iteration_00000005" and checkpoints.best_score() == 1.0
    assert checkpoints.best_score(evaluated=True) is None, "it was removed"


def test_an_altered_best_is_passed_over(tmp_path):
    checkpoints = Checkpoints(tmp_path)
    save(checkpoints, 1, 1.0)
    flip_a_bit(save(checkpoints, 2, 2.0))
    with pytest.warns(UserWarning, match="skipped"):
        assert checkpoints.best().name == "iteration_00000001"


def test_a_file_that_is_no_safetensors_file_is_refused(tmp_path):
    """Its digest is right, its inside is not: nothing in it is run."""
    checkpoints = Checkpoints(tmp_path)
    path = save(checkpoints, 1)
    torch.save({"w": torch.ones(1)}, path / TENSORS)
    data = (path / TENSORS).read_bytes()
    change_state(path, tensors={"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()})
    with pytest.raises(InputError, match=r"tensors.safetensors cannot be read \("):
        checkpoints.load(path)


def test_a_later_format_is_refused(tmp_path):
    path = save(Checkpoints(tmp_path), 1)
    change_state(path, format=2)
    with pytest.raises(
        InputError, match="has format 2, and this version of worldloom reads up to 1: update worldloom to use it"
    ):
        Checkpoints(tmp_path).load(path)


def test_state_that_json_cannot_hold_is_refused_and_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="the state of a checkpoint must be what JSON can hold: Object of type Tensor"):
        Checkpoints(tmp_path).save({}, {"w": torch.ones(1)}, iteration=1, steps=1)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InputError, match="at least one checkpoint must be kept, not 0"):
        Checkpoints(tmp_path, keep=0)


def test_leftovers_are_swept_by_the_writer_alone(tmp_path):
    done = save(Checkpoints(tmp_path), 1)
    for name in (".writing_iteration_00000002", ".dropped_iteration_00000000"):
        shutil.copytree(done, tmp_path / name)
    os.rename(done, tmp_path / ".replaced_iteration_00000001")
    (tmp_path / "notes.txt").write_text("a file of the user's")
    assert Checkpoints(tmp_path).latest() is None
    assert len(list(tmp_path.iterdir())) == 4, "a reader touches nothing: the writer may still be at work"
    writer = Checkpoints(tmp_path)
    writer.remove_leftovers()
    assert writer.latest() == done
    assert sorted(p.name for p in tmp_path.iterdir()) == ["iteration_00000001", "notes.txt"]


@pytest.fixture(scope="module")
def writer():
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, str(WRITER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout.readline() == "ready\n"
        yield process
        process.stdin.close()


def ask(writer, *command):
    print(*command, sep="\t", file=writer.stdin, flush=True)
    return int(writer.stdout.readline())


def latest_iteration(folder):
    """The iteration of the latest checkpoint as the next writer finds it, with every number checked; 0 for none."""
    checkpoints = Checkpoints(folder)
    checkpoints.remove_leftovers()
    for path in checkpoints.all():
        loaded = checkpoints.load(path)
        i = loaded.iteration
        assert (loaded.state, loaded.steps, loaded.score) == ({"iteration": i}, 100 * i, float(-i % 5))
        assert torch.equal(loaded.tensors["weights"], torch.full((5000,), float(i)))
        assert torch.equal(loaded.tensors["order"], torch.arange(1000) + i)
    latest = checkpoints.latest()
    return 0 if latest is None else read_metadata(latest).iteration


def newer_than(folder, iteration):
    """Whether a checkpoint beyond ``iteration`` exists, by names only: the writer may remove one meanwhile."""
    return any(int(path.name.rpartition("_")[2]) > iteration for path in Checkpoints(folder).all())


@pytest.mark.filterwarnings("error")  # a checkpoint that had to be passed over would warn
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_writer_killed_at_any_moment_leaves_whole_checkpoints(tmp_path, writer):
    """Every other time it has written at least one checkpoint; otherwise it may be killed before its first."""
    moments = random.Random(0)
    before = 0
    for kill in range(50 if THOROUGH else 20):
        pid = ask(writer, "write", tmp_path)
        deadline = time.monotonic() + 120.0
        while kill % 2 and not newer_than(tmp_path, before) and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(moments.uniform(0.0, 0.06))
        os.kill(pid, signal.SIGKILL)
        assert int(writer.stdout.readline()) == -signal.SIGKILL, "it was still writing"
        now = latest_iteration(tmp_path)
        assert now >= before
        before = now
    assert before >= (25 if THOROUGH else 10), "it was killed while it wrote, not before"


@pytest.mark.filterwarnings("error")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_writer_that_dies_at_any_call_leaves_whole_checkpoints(tmp_path, writer):
    """Each renaming, flushing, making and deleting of four saves, one of them a replacement, is in turn the last."""
    before, calls, code = 0, 0, DIED
    while code == DIED:
        calls += 1 if THOROUGH else 8
        code = ask(writer, "die", tmp_path, calls)
        now = latest_iteration(tmp_path)
        assert now >= before
        before = now
    assert code == 0
    assert calls > 40, "all of them were tried"
