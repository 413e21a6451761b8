"""Random and hostile mutations of a run folder: of its bytes, file names, JSON values and tensors."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import safetensors.torch
import torch

STATE, TENSORS = "state.json", "tensors.safetensors"
Mutation = Callable[[Path, Path, random.Random], str]
"""Damages the run in the first folder; links lead to the second. Returns what it did."""

TEXTS = (
    "",
    "null",
    "[]",
    "{}",
    "3",
    '"text"',
    "{",
    "[" * 100_000,
    '{"a":' * 60 + "1" + "}" * 60,
    "\0" * 100,
    "NaN",
    "1" * 5000,
    '{"format": 1}',
)
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        -1,
        0,
        1.5,
        -0.0,
        2**31,
        2**63,
        -(2**63) - 1,
        10**30,
        10**400,
        float("nan"),
        float("inf"),
        -float("inf"),
        1e-320,
        1e308,
    ),
    *(
        "",
        "x",
        "a\x1b[2Jb",
        "../../../etc/passwd",
        "\0",
        "\ud800",
        "ü" * 300,
        "~nobody-here/x",
        [],
        {},
        [[]],
        ["x"],
        {"x": {"y": [1]}},
        [0] * 1000,
    ),
)
HUGE = 10**9
"""Only settings whose memory is estimated in advance. Others are valid, but the training would take too long."""
SIZED = ("hidden", "memory_size", "replay_capacity", "batch_size", "num_steps")
SLOW = ("compile",)
"""Settings that are not altered: valid, and minutes long."""


def files_of(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def anything_of(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*"))


def checkpoints_of(folder: Path) -> list[Path]:
    kept = folder / "checkpoints"
    return (
        sorted(path for path in kept.glob("iteration_*") if path.is_dir() and not path.is_symlink())
        if kept.is_dir()
        else []
    )


def remove(path: Path) -> None:
    if path.is_symlink() or not path.is_dir():
        path.unlink()
    else:
        shutil.rmtree(path)


def flip_bytes(folder: Path, outside: Path, chance: random.Random) -> str:
    file = chance.choice(files_of(folder))
    data = bytearray(file.read_bytes())
    for _ in range(chance.choice((1, 1, 4, 64)) if data else 0):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    file.write_bytes(data)
    return f"bits flipped in {file.name}"


def truncate(folder: Path, outside: Path, chance: random.Random) -> str:
    file = chance.choice(files_of(folder))
    os.truncate(file, chance.randint(0, file.stat().st_size))
    return f"{file.name} cut short"


def append(folder: Path, outside: Path, chance: random.Random) -> str:
    file = chance.choice(files_of(folder))
    with open(file, "ab") as stream:
        stream.write(chance.choice((b"\n", b"\0\0\0\n", b"{}\n", b'{"iteration": 99}\n', chance.randbytes(50))))
    return f"bytes added to {file.name}"


def delete(folder: Path, outside: Path, chance: random.Random) -> str:
    path = chance.choice(anything_of(folder))
    remove(path)
    return f"{path.name} deleted"


def swap(folder: Path, outside: Path, chance: random.Random) -> str:
    first, second = chance.choice(files_of(folder)), chance.choice(files_of(folder))
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    return f"{first.name} and {second.name} swapped"


def link(folder: Path, outside: Path, chance: random.Random) -> str:
    """A link in the place of a file or folder: to its copy outside, to another file there, to nothing, or to itself."""
    path = chance.choice(anything_of(folder))
    kind = chance.choice(("copy", "copy", "file", "folder", "nowhere", "itself"))
    goal = {"file": outside / "precious.txt", "folder": outside, "nowhere": outside / "absent", "itself": path}.get(
        kind
    )
    if goal is None:
        goal = outside / f"{path.name}_{chance.randrange(10**9)}"
        (shutil.copytree if path.is_dir() else shutil.copy)(path, goal)
    remove(path)
    path.symlink_to(goal)
    return f"{path.name} a link ({kind})"


def hard_link(folder: Path, outside: Path, chance: random.Random) -> str:
    """A second name of a file outside: what replaces the file is right, what writes into it is not."""
    file = chance.choice(files_of(folder))
    goal = outside / f"{file.name}_{chance.randrange(10**9)}"
    shutil.copy(file, goal)
    file.unlink()
    os.link(goal, file)
    return f"{file.name} a hard link"


def other_kind(folder: Path, outside: Path, chance: random.Random) -> str:
    path = chance.choice(anything_of(folder))
    was_folder = path.is_dir()
    remove(path)
    if chance.random() < 0.3:
        os.mkfifo(path)
        return f"{path.name} a pipe"
    path.write_text("") if was_folder else path.mkdir()
    return f"{path.name} a {'file' if was_folder else 'folder'}"


def hostile_text(folder: Path, outside: Path, chance: random.Random) -> str:
    files = [file for file in files_of(folder) if file.suffix in (".json", ".jsonl")]
    file, text = chance.choice(files), chance.choice(TEXTS)
    file.write_text(text)
    return f"{file.name} with the text {text[:20]!r}"


def hostile_value(folder: Path, outside: Path, chance: random.Random) -> str:
    """Another value somewhere in a JSON file, a missing one, or one too many; in every checkpoint or in one."""
    files = [file for file in files_of(folder) if file.suffix == ".json"]
    file = chance.choice(files)
    same = [f for f in files if f.name == file.name] if chance.random() < 0.5 else [file]
    value, seed = chance.choice(VALUES), chance.randrange(2**32)
    where = ""
    for each in same:
        try:
            data = json.loads(each.read_text())
        except (ValueError, RecursionError, OSError):
            continue
        where = _alter(data, value, random.Random(seed)) or where
        each.write_text(json.dumps(data))
    return f"{where} of {file.name} ({len(same)}) with {repr(value)[:30]}"


def _alter(data: Any, value: Any, chance: random.Random) -> str:
    places = [place for place in _places(data) if place[1] not in SLOW]
    if not places:
        return ""
    container, key = chance.choice(places)
    kind = chance.random()
    if kind < 0.15:
        del container[key]
    elif kind < 0.25 and isinstance(container, dict):
        container["unknown"] = value
    elif key in SIZED and kind < 0.6:
        container[key] = [HUGE, HUGE] if key == "hidden" else HUGE
    else:
        container[key] = value
    return str(key)


def _places(data: Any) -> list[tuple[Any, Any]]:
    """Every value within ``data``: what holds it, and under which key."""
    keys = list(data) if isinstance(data, dict) else list(range(len(data))) if isinstance(data, list) else []
    return [place for key in keys for place in ((data, key), *_places(data[key]))]


def hostile_row(folder: Path, outside: Path, chance: random.Random) -> str:
    """Another value in a row of the metrics; or a row twice, or elsewhere."""
    file = folder / "metrics.jsonl"
    if not file.is_file() or not (lines := file.read_text(errors="replace").split("\n")):
        return "no metrics"
    number = chance.randrange(len(lines))
    try:
        row = json.loads(lines[number])
        row[chance.choice(sorted(row))] = chance.choice(VALUES)
        lines[number] = json.dumps(row)
    except (ValueError, TypeError, RecursionError, IndexError):
        lines.insert(number, chance.choice(lines))
    file.write_text("\n".join(lines))
    return f"row {number} altered"


def hostile_tensor(folder: Path, outside: Path, chance: random.Random) -> str:
    """Other numbers, another type or shape of a tensor in every checkpoint, with the right digest."""
    seed, done = chance.randrange(2**32), ""
    for path in checkpoints_of(folder):
        own = random.Random(seed)
        try:
            tensors = safetensors.torch.load_file(path / TENSORS)
            note = json.loads((path / STATE).read_text())
            done = _alter_tensor(tensors, own)
            safetensors.torch.save_file(tensors, path / TENSORS)
            data = (path / TENSORS).read_bytes()
            note["tensors"] = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
            (path / STATE).write_text(json.dumps(note))
        except (OSError, ValueError, TypeError, RecursionError, safetensors.SafetensorError):
            continue
    return done


def _alter_tensor(tensors: dict[str, torch.Tensor], chance: random.Random) -> str:
    name = chance.choice(sorted(tensors))
    tensor, kind = (
        tensors[name].clone(),
        chance.choice(("fill", "fill", "one", "bits", "shape", "type", "missing", "more")),
    )
    if kind in ("fill", "one"):
        value = chance.choice((0, -1, 1, 2**31 - 1, -(2**31), 255, 2**62, float("nan"), float("inf"), 1e38))
        where = tensor.view(-1)[chance.randrange(tensor.numel()) :][:1] if kind == "one" and tensor.numel() else tensor
        try:
            where.fill_(value)
        except (RuntimeError, OverflowError):  # no such number in its type
            where.fill_(1)
    elif kind == "bits":
        flat = tensor.reshape(-1).view(torch.uint8)
        for _ in range(8 if len(flat) else 0):
            flat[chance.randrange(len(flat))] = chance.randrange(256)
    elif kind == "shape":
        tensor = chance.choice((tensor.reshape(-1)[:-1], tensor[None], torch.zeros(0)))
    elif kind == "type":
        tensor = tensor.to(chance.choice((torch.float64, torch.int8, torch.bool, torch.bfloat16)))
    elif kind == "missing":
        del tensors[name]
        return f"tensor {name} missing"
    tensors[f"{name}_more" if kind == "more" else name] = tensor.contiguous()
    return f"tensor {name}: {kind}"


def leftover(folder: Path, outside: Path, chance: random.Random) -> str:
    """What a killed writer leaves, or what only looks like it."""
    names = [
        f"checkpoints/{before}iteration_{chance.choice((1, 2, 3, 9)):08d}"
        for before in (".writing_", ".dropped_", ".replaced_", "")
    ]
    names += [
        ".config.json.writing",
        ".metrics.jsonl.writing",
        ".config.0123456789abcdef.writing.json",
        ".launch",
        ".stop",
        "curve.png",
        "video.mp4",
    ]
    path = folder / chance.choice(names)
    if not path.parent.is_dir() or os.path.lexists(path):
        return "no leftover"
    made, kind = checkpoints_of(folder), chance.choice(("copy", "folder", "file", "link", "nowhere"))
    if kind == "copy" and made and path.parent.name == "checkpoints":
        shutil.copytree(chance.choice(made), path, symlinks=True)
    elif kind == "folder":
        path.mkdir()
    elif kind in ("link", "nowhere"):
        path.symlink_to(outside / ("precious.txt" if kind == "link" else "absent"))
    else:
        path.write_text("left over")
    return f"{path.name} left over ({kind})"


def rename_checkpoint(folder: Path, outside: Path, chance: random.Random) -> str:
    made = checkpoints_of(folder)
    if not made:
        return "no checkpoint"
    path = chance.choice(made)
    name = chance.choice(
        (
            "iteration_00000099",
            "iteration_00000000",
            "iteration_999999999999999999",
            "iteration_٠٠٠٠٠٠٠٩",
            "iteration_1",
        )
    )
    if not os.path.lexists(path.with_name(name)):
        os.rename(path, path.with_name(name))
    return f"{path.name} renamed to {name!a}"


def newer(folder: Path, outside: Path, chance: random.Random) -> str:
    """A later format, in one checkpoint, in all, or in the settings."""
    files = [path / STATE for path in checkpoints_of(folder)] + [folder / "config.json"]
    for file in chance.choice((files, files[:-1], [chance.choice(files)])):
        try:
            file.write_text(json.dumps(json.loads(file.read_text()) | {"format": chance.choice((2, 99, 10**30))}))
        except (OSError, ValueError, TypeError, RecursionError):
            continue
    return "a later format"


MUTATIONS: tuple[Mutation, ...] = (
    *(
        flip_bytes,
        truncate,
        append,
        delete,
        swap,
        link,
        hard_link,
        other_kind,
        hostile_text,
        hostile_row,
        leftover,
        rename_checkpoint,
        newer,
    ),
    *(hostile_value, hostile_value, hostile_value, hostile_tensor, hostile_tensor),
)
