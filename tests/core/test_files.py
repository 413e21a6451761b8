"""Atomic writes, and refusal of symbolic links."""

import os
from pathlib import Path

import pytest
import torch

from worldloom.core.base import files, tensor_file
from worldloom.core.base.errors import InputError

PRECIOUS = "somebody else's file\n"


@pytest.fixture
def precious(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file outside the folder that is written into; it must never change."""
    file = tmp_path_factory.mktemp("outside") / "precious.txt"
    file.write_text(PRECIOUS)
    return file


def test_a_file_is_replaced_and_nothing_is_left(tmp_path: Path) -> None:
    target = tmp_path / "notes.txt"
    files.write_file(target, "first")
    files.write_file(target, b"second")
    assert target.read_text() == "second" and [p.name for p in tmp_path.iterdir()] == ["notes.txt"]
    umask = os.umask(0)
    os.umask(umask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~umask, "the permissions of other files"


def test_an_error_in_the_block_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "film.mp4"
    target.write_text("old")
    with pytest.raises(KeyError), files.atomic_write(target) as writing:
        assert writing.suffix == ".mp4" and writing.parent == tmp_path and files.is_temporary(writing.name)
        writing.write_text("half")
        raise KeyError
    assert target.read_text() == "old" and len(list(tmp_path.iterdir())) == 1


def test_links_and_other_kinds_of_files_are_refused(tmp_path: Path, precious: Path) -> None:
    (tmp_path / "link").symlink_to(precious)
    (tmp_path / "nowhere").symlink_to(precious.with_name("absent"))
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for name, problem in {
        "link": "is a symbolic link",
        "nowhere": "is a symbolic link",
        "folder": "is no regular file",
        "pipe": "is no regular file",
    }.items():
        with pytest.raises(InputError, match=f"{name} {problem}"):
            files.write_file(tmp_path / name, "new")
    for name in ("link", "nowhere"):
        with pytest.raises(OSError, match="it is a symbolic link"):
            files.read_file(tmp_path / name)
        with pytest.raises(OSError, match="it is a symbolic link"):
            files.open_regular(tmp_path / name, os.O_WRONLY | os.O_CREAT)
    for name in ("folder", "pipe"):
        with pytest.raises(OSError, match="it is no regular file"):
            files.read_file(tmp_path / name)
    with pytest.raises(OSError, match="it is no regular file"):
        files.open_regular(tmp_path / "pipe", os.O_WRONLY | os.O_CREAT)
    assert precious.read_text() == PRECIOUS and not precious.with_name("absent").exists()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "link", "nowhere", "pipe"]


def test_a_snapshot_is_not_written_through_a_link(tmp_path: Path, precious: Path) -> None:
    (tmp_path / "worlds.safetensors").symlink_to(precious)
    with pytest.raises(InputError, match=r"worlds\.safetensors is a symbolic link"):
        tensor_file.write(tmp_path / "worlds.safetensors", "snapshot", 1, {"a": torch.zeros(1)}, {})
    assert precious.read_text() == PRECIOUS and (tmp_path / "worlds.safetensors").is_symlink()


def test_odd_paths_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"the path 'a\\x00b' has a NUL character"):
        files.write_file(Path("a\0b"), "")
    with pytest.raises(OSError, match="NUL character"):
        files.read_file(Path("a\0b"))
    long = tmp_path / ("n" * 250)
    files.write_file(long, "fits")
    assert files.read_file(long) == b"fits"
    with pytest.raises(InputError, match=r"file cannot be written \(No such file or directory\): choose another place"):
        files.write_file(tmp_path / "absent" / "file", "")
    with pytest.raises(OSError, match="it has 4 bytes, and at most 3 are read"):
        files.read_file(long, max_bytes=3)


def test_a_full_disk_is_told_with_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(
        InputError,
        match=r"big cannot be written \(No space left on device\): "
        r"1,000 bytes are needed and [\d,]+ bytes are free on the disk",
    ):
        files.write_file(tmp_path / "big", b"x" * 1000)
    assert list(tmp_path.iterdir()) == []
