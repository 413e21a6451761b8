"""Files of tensors: written atomically, and refused if a byte has changed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import worldloom as wl
from worldloom.core.base import files, tensor_file
from worldloom.core.base.errors import InputError

TENSORS = {
    "a/whole": torch.arange(6, dtype=torch.int64).reshape(2, 3),
    "b": torch.tensor([float("nan"), -0.0, float("inf")]),
    "flags": torch.tensor([True, False]),
    "none": torch.empty((0, 4), dtype=torch.uint8),
    "seed": torch.tensor([2**32 - 1], dtype=torch.uint32),
}
FACTS = {"text": 'with "sha256":"quotes" in it', "numbers": [1, 2.5, None]}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "some.safetensors"
    tensor_file.write(path, "thing", 2, TENSORS, FACTS)
    return path


def test_what_was_written_is_read(file: Path) -> None:
    contents = tensor_file.read(file, "thing", 2)
    assert contents.facts == FACTS
    assert set(contents.tensors) == set(TENSORS) == set(load_file(file))  # any program may read it
    for name, tensor in TENSORS.items():
        found = contents.tensors[name]
        assert (found.dtype, found.shape, found.numpy().tobytes()) == (
            tensor.dtype,
            tensor.shape,
            tensor.numpy().tobytes(),
        ), name


def test_every_shorter_file_is_refused(file: Path) -> None:
    whole = file.read_bytes()
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        with pytest.raises(InputError, match="cannot be used as a thing, since it"):
            tensor_file.read(file, "thing", 2)


def test_a_change_of_any_byte_is_refused(file: Path) -> None:
    whole = file.read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << place % 8
        file.write_bytes(changed)
        with pytest.raises(InputError, match="cannot be used as a thing, since it"):
            tensor_file.read(file, "thing", 2)


def test_files_of_other_kinds_and_later_versions_are_refused(file: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds a thing, not a snapshot"):
        tensor_file.read(file, "snapshot", 1)
    with pytest.raises(InputError, match="has version 2, and this worldloom reads up to 1"):
        tensor_file.read(file, "thing", 1)
    save_file(TENSORS, tmp_path / "foreign.safetensors")
    with pytest.raises(InputError, match="no whole safetensors file with a digest"):
        tensor_file.read(tmp_path / "foreign.safetensors", "thing", 2)
    with pytest.raises(InputError, match="cannot be read"):
        tensor_file.read(tmp_path / "absent.safetensors", "thing", 2)
    for junk in (b"", b"\xff" * 40, b"\x02" + b"\x00" * 7 + b"{}", b"\x04" + b"\x00" * 7 + b"null"):
        (tmp_path / "junk").write_bytes(junk)
        with pytest.raises(InputError, match="no whole safetensors file"):
            tensor_file.read(tmp_path / "junk", "thing", 2)


def test_what_cannot_be_written_leaves_what_was_there(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = file.read_bytes()

    def fail(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(
        InputError,
        match=r"cannot be written \(No space left on device\): \d+ bytes are needed and [\d,]+ bytes are free",
    ):
        tensor_file.write(file, "thing", 2, {"b": torch.zeros(3)}, {})
    assert file.read_bytes() == before
    assert list(tmp_path.iterdir()) == [file]
    with pytest.raises(InputError, match="cannot be written"):
        tensor_file.write(tmp_path / "nowhere" / "file", "thing", 2, TENSORS, {})


def test_a_damaged_snapshot_leaves_the_simulation_alone(race: wl.Definition, tmp_path: Path) -> None:
    simulation = wl.Simulation(race, 3, "python", seed=1)
    path = tmp_path / "race.safetensors"
    simulation.snapshot().save(path)
    whole = path.read_bytes()
    simulation.step(np.ones((3, 2), np.int32))
    before = simulation.snapshot()
    for length in (0, 7, 8, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(InputError, match="cannot be used as a snapshot"):
            simulation.restore(wl.Snapshot.load(path))
    after = simulation.snapshot()
    assert all(torch.equal(after.tensors[name], tensor) for name, tensor in before.tensors.items())
    path.write_bytes(whole)
    simulation.restore(wl.Snapshot.load(path))
    assert simulation.world.step.numpy().tolist() == [0, 0, 0]


@pytest.mark.parametrize("path", [None, 5, 1.5, [], {}])
def test_what_is_no_path_is_refused(path: object, file: Path) -> None:
    for act in (
        lambda: wl.Snapshot.load(path),
        lambda: wl.ReplayLog.load(path),
        lambda: tensor_file.write(path, "thing", 2, TENSORS, FACTS),
    ):
        with pytest.raises(InputError, match=r"a path is a string or a pathlib\.Path, not"):
            act()


def test_paths_that_lead_to_no_plain_file_are_refused(file: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "circle").symlink_to(tmp_path / "circle")
    for path in (tmp_path, tmp_path / "pipe", "/dev/null", tmp_path / "circle", tmp_path / ("x" * 300), ""):
        with pytest.raises(InputError, match="cannot be read"):
            tensor_file.read(path, "thing", 2)
    for path in ("a\0b", tmp_path / "a\0b", b"a\0b".decode()):
        with pytest.raises(InputError, match="NUL character"):
            tensor_file.read(path, "thing", 2)
    with pytest.raises(InputError, match="the home of a user who is not known"):
        tensor_file.read("~nobody-here/file", "thing", 2)
    (tmp_path / "link").symlink_to(file)
    assert tensor_file.read(tmp_path / "link", "thing", 2).facts == FACTS


@pytest.mark.parametrize("text", ["[" * 100_000 + "]" * 100_000, "null", "[]", "1e999", "{", ""])
def test_facts_that_are_no_object_are_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tensor_file.json, "dumps", lambda facts: text)
    tensor_file.write(tmp_path / "odd", "thing", 2, TENSORS, FACTS)
    with pytest.raises(InputError, match="cannot be used as a thing, since") as refused:
        tensor_file.read(tmp_path / "odd", "thing", 2)
    assert len(str(refused.value)) < 1000


def test_a_file_is_never_written_through_a_link(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files.secrets, "token_hex", lambda size: "00")
    (tmp_path / "elsewhere").write_text("mine")
    writing = tmp_path / f".{file.stem}.00.writing{file.suffix}"
    writing.symlink_to(tmp_path / "elsewhere")
    before = file.read_bytes()
    with pytest.raises(InputError, match="cannot be written"):
        tensor_file.write(file, "thing", 2, {"b": torch.zeros(3)}, {})
    assert (tmp_path / "elsewhere").read_text() == "mine" and file.read_bytes() == before
    assert writing.is_symlink()  # nor is it taken away


def test_a_device_that_there_is_not_is_refused(race: wl.Definition, tmp_path: Path) -> None:
    wl.Simulation(race, 3, "python", seed=1).snapshot().save(tmp_path / "race")
    with pytest.raises(wl.DeviceError, match="there is no device 'bogus'"):
        wl.Snapshot.load(tmp_path / "race", device="bogus")
