"""Corrupted snapshot and replay files: each is refused with a worldloom error, or restored, without a crash.

    python tests/fuzz/corrupt_files.py --count 1000 --seed 0

Bytes are flipped, cut off and added. Tensors are dropped, renamed, exchanged and given other types and shapes. Facts
and metadata get hostile values. Half of the files get a correct digest, so that the checks after it are reached. Paths
lead to folders, pipes, links and missing files. No file on disk may change.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch

sys.path.insert(0, str(Path(__file__).parent))
from restore_columns import RAN, RAW, REFUSED, in_child, kitchen, restore_and_run

import worldloom as wl
from worldloom.core.base import tensor_file
from worldloom.core.base.errors import WorldloomError
from worldloom.core.model.fields import Role

WORLDS, STEPS = 3, 12
BLANK = "0" * 64
DEEP = "[" * 100_000 + "]" * 100_000
HOSTILE = (
    None,
    -1,
    0,
    1,
    2**31,
    2**80,
    10**400,
    float("nan"),
    float("inf"),
    True,
    "",
    "x",
    "\0",
    "../..",
    "x" * 100_000,
    [],
    {},
    [[]],
    {"a": []},
    ["World.step"],
)
"""What a fact may be; Python writes numbers that are not finite as NaN and Infinity, which other JSON does not have."""
VERSIONS = ("", "0", "-1", "2", "999999", "1e5", "NaN", "9" * 6000, "one")


def sealed(data: bytes) -> bytes:
    """The same with the right digest, where it has a place for one."""
    made = bytearray(data)
    place = tensor_file._digest_offset(made)
    if place is not None:
        made[place : place + 64] = BLANK.encode()
        made[place : place + 64] = hashlib.sha256(made).hexdigest().encode()
    return bytes(made)


class Parts:
    """A file taken apart, so that it can be put together otherwise."""

    def __init__(self, data: bytes) -> None:
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        self.metadata: dict[str, str] = header["__metadata__"]
        self.tensors: dict[str, torch.Tensor] = safetensors.torch.load(data)

    def bytes(self, facts: str | None = None) -> bytes:
        metadata = {**self.metadata, "sha256": BLANK, **({} if facts is None else {"facts": facts})}
        return sealed(
            safetensors.torch.save(
                {name: tensor.contiguous().clone() for name, tensor in self.tensors.items()}, metadata
            )
        )


def flip(data: bytes, numbers: np.random.Generator) -> bytes:
    made = np.frombuffer(data, np.uint8).copy()
    header = int.from_bytes(data[:8], "little") + 8
    limit = header if numbers.random() < 0.7 else len(made)  # most of it is numbers, which may be anything
    places = numbers.integers(0, limit, 1 + int(numbers.integers(4)))
    made[places] = numbers.integers(0, 256, len(places))
    return made.tobytes() if numbers.random() < 0.3 else sealed(made.tobytes())


def cut(data: bytes, numbers: np.random.Generator) -> bytes:
    made = (
        data[: int(numbers.integers(0, len(data)))]
        if numbers.random() < 0.7
        else data + numbers.bytes(int(numbers.integers(1, 64)))
    )
    return made if numbers.random() < 0.3 else sealed(made)


def rename(data: bytes, numbers: np.random.Generator) -> bytes:
    parts = Parts(data)
    one, other = (str(name) for name in numbers.choice(sorted(parts.tensors), 2, replace=False))
    way = numbers.integers(4)
    if way == 0:
        del parts.tensors[one]
    elif way == 1:
        parts.tensors[one + "_"] = parts.tensors.pop(one)
    elif way == 2:
        parts.tensors[one], parts.tensors[other] = parts.tensors[other], parts.tensors[one]
    else:
        parts.tensors[str(numbers.choice(["", "World.", "7/flags", "0/state/x", "\0", "__metadata__x"]))] = torch.zeros(
            3
        )
    return parts.bytes()


def reshape(data: bytes, numbers: np.random.Generator) -> bytes:
    parts = Parts(data)
    name = str(numbers.choice(sorted(parts.tensors)))
    tensor, way = parts.tensors[name], numbers.integers(6)
    if way == 0:
        kinds = (
            torch.float64,
            torch.float16,
            torch.bfloat16,
            torch.int8,
            torch.int64,
            torch.uint8,
            torch.bool,
            torch.int32,
            torch.uint32,
            torch.complex64,
        )
        parts.tensors[name] = tensor.to(kinds[numbers.integers(len(kinds))])
    elif way == 1:
        parts.tensors[name] = tensor.reshape(-1)
    elif way == 2:
        parts.tensors[name] = tensor[None]
    elif way == 3:
        parts.tensors[name] = tensor[:0]
    elif way == 4:
        parts.tensors[name] = torch.zeros((), dtype=tensor.dtype)
    else:
        parts.tensors[name] = torch.cat([tensor, tensor])
    return parts.bytes()


def other_facts(data: bytes, numbers: np.random.Generator) -> bytes:
    parts = Parts(data)
    facts = json.loads(parts.metadata["facts"])
    name, way = str(numbers.choice(sorted(facts))), numbers.integers(8)
    value: Any = HOSTILE[numbers.integers(len(HOSTILE))]
    if way == 0:
        del facts[name]
    elif way == 1:
        return parts.bytes(
            str(numbers.choice(["", "null", "[]", "7", '"x"', "{", "NaN", DEEP, '{"world":' + DEEP + "}", "1" * 6000]))
        )
    elif way == 2:
        parts.metadata[str(numbers.choice(["kind", "version", "worldloom"]))] = str(numbers.choice(VERSIONS))
    elif way == 3 and isinstance(facts.get("counts"), dict):
        facts["counts"][str(numbers.choice(sorted(facts["counts"])))] = (
            value if numbers.random() < 0.5 else {"per_world": value, "batch": None, "overflow": "drop"}
        )
    elif way == 4:
        text = json.dumps(facts).replace(
            json.dumps(facts[name]), str(numbers.choice(["1e999", "-1e999", "1" * 6000, DEEP, "NaN", "1e-9999"])), 1
        )
        return parts.bytes(text)
    else:
        facts[name] = value
    return parts.bytes(json.dumps(facts))


WAYS: tuple[Callable[[bytes, np.random.Generator], bytes], ...] = (flip, cut, rename, reshape, other_facts)


def odd_paths(folder: Path, whole: Path) -> list[Any]:
    """Paths that lead to no plain file, or are none."""
    (folder / "directory").mkdir()
    (folder / "nowhere").symlink_to(folder / "absent")
    (folder / "circle").symlink_to(folder / "circle")
    (folder / "linked").symlink_to(whole)
    os.mkfifo(folder / "pipe")
    names = [
        "directory",
        "nowhere",
        "circle",
        "linked",
        "pipe",
        "absent",
        "x" * 300,
        "a\0b",
        "whole/below",
        "~nobody-here/file",
    ]
    return [
        *(folder / name if not name.startswith("~") else name for name in names),
        None,
        5,
        1.5,
        [],
        b"bytes",
        "",
        "\0",
        "/dev/zero",
        "/",
        "~nobody-here",
    ]


def load_and_play(kind: str, simulation: wl.Simulation, path: Any, numbers: np.random.Generator) -> int:
    """What becomes of a file: ``REFUSED`` or ``RAN``."""
    if kind == "snapshot":
        return restore_and_run(simulation, path, numbers)
    try:
        log = wl.ReplayLog.load(path, simulation.definition if numbers.random() < 0.8 else None)
        for world in log.worlds[:2].tolist():
            for episode in log.episodes(world)[:2]:
                with log.replay(world, episode, device="python", verify=bool(numbers.random() < 0.5)) as replay:
                    replay.run()
    except WorldloomError as error:
        if "\n" in str(error):
            raise AssertionError(f"a refusal takes one sentence: {error}") from None
        return REFUSED
    return RAN


def record(definition: wl.Definition, folder: Path) -> tuple[wl.Simulation, dict[str, bytes]]:
    """A simulation, and a snapshot and a replay log of it as bytes."""
    simulation = wl.Simulation(definition, WORLDS, "python", seed=0)
    numbers = np.random.default_rng(0)
    with simulation.record(every=5) as recorder:
        for step in range(STEPS):
            columns = simulation.columns(Role.ACTION)
            simulation.step(
                {name: numbers.integers(0, 2, column.shape).astype(np.int32) for name, column in columns.items()}
                or None
            )
            if step == 7:
                simulation.reset(np.array([True, False, False]), seeds=3)
    simulation.snapshot().save(folder / "snapshot")
    recorder.log.save(folder / "replay")
    return simulation, {name: (folder / name).read_bytes() for name in ("snapshot", "replay")}


def fuzz(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Load ``count`` corrupted files, and every odd path."""
    endings, faults = Counter[str](), list[str]()
    torch.set_num_threads(1)  # a forked process has none of the others, and would wait for them
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        originals = [
            record(definition, folder)
            for definition in (wl.definition("Catch-v0"), kitchen(wl.UpTo(12, overflow="drop")))
        ]
        whole = folder / "whole"

        def trial(label: str, kind: str, simulation: wl.Simulation, path: Any, numbers: np.random.Generator) -> None:
            before = listing(folder)
            status = in_child(lambda: load_and_play(kind, simulation, path, numbers))
            ending = {REFUSED: "refused", RAN: "restored", RAW: "raw error", -signal.SIGALRM: "hung"}.get(
                status, f"crashed ({status})"
            )
            endings[ending] += 1
            if status not in (REFUSED, RAN):
                faults.append(f"{kind}, {label}: {ending}")
            if listing(folder) != before:
                faults.append(f"{kind}, {label}: files have changed")

        for number in range(count):
            numbers = np.random.default_rng((seed, number))
            simulation, files = originals[numbers.integers(len(originals))]
            kind, way = str(numbers.choice(sorted(files))), WAYS[numbers.integers(len(WAYS))]
            (folder / "corrupt").write_bytes(way(files[kind], numbers))
            trial(f"seed {seed}, file {number}, {way.__name__}", kind, simulation, folder / "corrupt", numbers)
        simulation, files = originals[0]
        for kind, data in files.items():
            with tempfile.TemporaryDirectory(dir=folder) as odd:
                whole.write_bytes(data)
                for path in odd_paths(Path(odd), whole):
                    trial(f"path {path!r}"[:100], kind, simulation, path, np.random.default_rng(seed))
    return endings, faults


def listing(folder: Path) -> list[tuple[str, int, int]]:
    """Everything in a folder, with its size and when it changed."""
    found = ((path, path.lstat()) for path in sorted(folder.rglob("*")))
    return [(str(path), state.st_size, state.st_mtime_ns) for path, state in found]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    endings, faults = fuzz(chosen.count, chosen.seed)
    print(f"{sum(endings.values()):,} files and paths: {dict(endings)}")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
