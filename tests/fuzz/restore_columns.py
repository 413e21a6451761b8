"""Snapshots with hostile columns: each is refused with a worldloom error, or the worlds run on, without a crash.

    python tests/fuzz/restore_columns.py --count 1000 --seed 0
    python tests/fuzz/restore_columns.py --worlds Taxi-v3 ALE/Breakout-v5 --count 200

For every world a snapshot is saved, and some of its columns are set to random or hostile values in the file, with a
correct digest. A child process loads and restores it, steps, and resets. Children are forked from a process in which
everything is compiled, so that one takes milliseconds.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

import worldloom as wl
from worldloom.core.base.errors import WorldloomError
from worldloom.core.model.fields import Role

ATARI: dict[str, dict[str, Any]] = {
    "Breakout-v5": {"episodic_life": True, "noop_max": 4},
    "ALE/Pong-v5+ALE/Breakout-v5": {},
    "ALE/Breakout-v5": {"continuous": True},
    "ALE/Qbert-v5": {"exact_start": True, "obs_type": "ram"},
    "Pitfall2-v5": {"noop_max": 2},
}
"""Atari worlds with settings that together reach every launch of the console."""
REFUSED, RAN, RAW = 0, 10, 20
"""How a child ends: the state was refused; it was restored and ran; an error of Python's own came out."""
SECONDS = 20
"""After which a child counts as hung."""
WORLDS = 3


class Bowl(wl.Entity):
    cells: wl.Array(int, 5)
    slot: wl.Between(int, 0, 4)
    full: bool


class Grain(wl.Entity):
    place: wl.vec2
    beside: wl.Ref[Grain]
    bowl: wl.Ref[Bowl]
    shade: wl.Between(int, 0, 3)
    seen: int


class Kitchen(wl.World):
    share: wl.Config = 0.5


@wl.system
def pour(bowl: Bowl, world: Kitchen):
    for _ in range(2):
        world.spawn(Grain, place=wl.vec2(world.random(), world.random()), bowl=bowl.ref)
    bowl.cells[bowl.slot] += 1
    bowl.cells[int(bowl.full) * 4] += 1
    bowl.slot = (bowl.slot + 1) % 5


@wl.system
def touch(grain: Grain, world: Kitchen):
    for other in world.near(Grain, grain.place, 0.2, by="place"):
        grain.seen += other.shade
        grain.beside = other.ref


@wl.system
def roll(grain: Grain, world: Kitchen):
    grain.shade = (grain.shade + grain.seen) % 4
    if grain.bowl is not None:
        grain.place += wl.vec2(0.01, float(grain.bowl.get().slot) * 0.01)
    if world.random() < 0.2:
        grain.despawn()


def kitchen(limit: wl.UpTo) -> wl.Definition:
    """A world with everything that the engine keeps of populations: references, neighbours, births and deaths."""
    pooled = "pooled" if limit.batch else "apart"
    return wl.Definition(
        f"Kitchen-{pooled}",
        Kitchen,
        {Grain: limit, Bowl: 2},
        step=(pour, touch, roll),
        max_steps=20,
        limits={"share": (0.0, 1.0)},
    )


def definitions(names: list[str]) -> Iterator[wl.Definition]:
    """The worlds of these ids; without any all that come with worldloom, some of Atari's, and two with populations."""
    if names:
        yield from (wl.definition(name, **ATARI.get(name, {})) for name in names)
        return
    yield from wl.registered().values()
    yield kitchen(wl.UpTo(12, overflow="drop"))
    yield kitchen(wl.UpTo(12, batch=30, overflow="drop"))
    yield from (wl.definition(name, **settings) for name, settings in ATARI.items())


HOSTILE = (0, 1, -1, 2, 3, 5, 7, 31, 127, 128, 255, 256, 5000, 65_535, 2**31 - 1, -(2**31), 2**31, 2**62, -(2**63))
REAL = (float("nan"), float("inf"), -float("inf"), 1e38, -1e38, 1e-45, 0.0, -0.0, 3.5e9, -3.5e9)


def mutate(tensor: torch.Tensor, numbers: np.random.Generator) -> torch.Tensor:
    """A copy with random or hostile values in all or some of its places."""
    bytes_ = tensor.contiguous().clone().reshape(-1).view(torch.uint8).numpy()
    kind = bytes_.view(str(tensor.dtype).removeprefix("torch.")) if tensor.dtype != torch.bool else bytes_
    places = (
        np.arange(kind.size)
        if numbers.random() < 0.3
        else numbers.integers(0, max(1, kind.size), 1 + int(numbers.integers(3)))
    )
    way = numbers.integers(3)
    if kind.size == 0:
        return tensor
    if way == 0:
        noise = numbers.integers(0, 256, (len(places), kind.itemsize), dtype=np.uint8)
        kind[places] = noise.reshape(-1).view(kind.dtype)
    elif kind.dtype.kind == "f":
        kind[places] = numbers.choice(REAL, len(places)).astype(kind.dtype)
    else:
        width = 8 * kind.itemsize
        kind[places] = (
            np.array([int(numbers.choice(np.array(HOSTILE, object))) % 2**width for _ in places], np.uint64)
            .astype(f"u{kind.itemsize}")
            .view(kind.dtype)
        )
    return torch.from_numpy(bytes_).view(tensor.dtype).reshape(tensor.shape)


def hostile(snapshot: wl.Snapshot, numbers: np.random.Generator) -> tuple[wl.Snapshot, list[str]]:
    """A snapshot with other values in one to three of its columns, and their names."""
    names = sorted(snapshot.tensors)
    chosen = [str(name) for name in numbers.choice(names, min(len(names), 1 + int(numbers.integers(3))), replace=False)]
    return replace(
        snapshot, tensors={**snapshot.tensors, **{name: mutate(snapshot.tensors[name], numbers) for name in chosen}}
    ), chosen


def restore_and_run(simulation: wl.Simulation, path: Path, numbers: np.random.Generator) -> int:
    """What becomes of a file: ``REFUSED`` or ``RAN``. Anything else is a defect."""
    try:
        simulation.restore(wl.Snapshot.load(path))
    except wl.InputError as error:
        if "\n" in str(error):
            raise AssertionError(f"a refusal takes one sentence: {error}") from None
        return REFUSED
    for step in range(4):
        try:
            simulation.step(actions(simulation, numbers) if step else None)
            if step == 2:
                simulation.reset(numbers.random(simulation.num_worlds) < 0.5)
        except WorldloomError:  # a fault of a world, such as too many entities
            continue
    simulation.errors()
    if simulation.definition.render is not None and numbers.random() < 0.2:
        simulation.definition.render(simulation, 0)
    return RAN


def actions(simulation: wl.Simulation, numbers: np.random.Generator) -> dict[str, np.ndarray]:
    """Random actions for every component that takes any."""
    made = {}
    for name, column in simulation.columns(Role.ACTION).items():
        whole = column.dtype.kind == "i"
        made[name] = (
            numbers.integers(-1, 8, column.shape).astype(np.int32)
            if whole
            else numbers.normal(0, 100, column.shape).astype(np.float32)
        )
    return made


def in_child(run: Callable[[], int]) -> int:
    """The exit status of ``run`` in a process of its own: its result, ``RAW`` for an error, or the negative signal."""
    sys.stdout.flush()
    sys.stderr.flush()
    child = os.fork()
    if child == 0:
        status = RAW
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(SECONDS)
            status = run()
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@dataclass
class Report:
    """What became of the trials of one world."""

    world: str
    endings: Counter[str]
    faults: list[str]


def fuzz(definition: wl.Definition, count: int, seed: int, device: str = "cpu") -> Report:
    """Restore ``count`` hostile snapshots of a world."""
    report = Report(definition.id, Counter(), [])
    torch.set_num_threads(1)  # a forked process has none of the others, and would wait for them
    with (
        wl.Simulation(definition, WORLDS, device, seed=seed, threads=1) as simulation,
        tempfile.TemporaryDirectory() as folder,
    ):
        numbers = np.random.default_rng(seed)
        for _ in range(3):
            simulation.step(actions(simulation, numbers))
        simulation.errors()
        kept, path = simulation.snapshot(), Path(folder) / "hostile.safetensors"
        kept.save(path)
        if restore_and_run(simulation, path, numbers) != RAN:  # and everything is compiled
            report.faults.append(f"{definition.id}: its own snapshot is refused")
        for trial in range(count):
            numbers = np.random.default_rng((seed, trial))
            changed, names = hostile(kept, numbers)
            changed.save(path)
            status = in_child(lambda numbers=numbers: restore_and_run(simulation, path, numbers))
            ending = {REFUSED: "refused", RAN: "ran", RAW: "raw error", -signal.SIGALRM: "hung"}.get(
                status, f"crashed ({status})"
            )
            report.endings[ending] += 1
            if status not in (REFUSED, RAN):
                report.faults.append(
                    f"{definition.id}: seed {seed}, trial {trial}, columns {', '.join(names)}: {ending}"
                )
    return report


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--worlds", nargs="*", default=[], help="ids of worlds; by default all")
    parser.add_argument("--count", type=int, default=1000, help="snapshots in total")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu", help="cpu or python")
    chosen = parser.parse_args()
    found = list(definitions(chosen.worlds))
    total, faults = Counter[str](), list[str]()
    for definition in found:
        report = fuzz(definition, -(-chosen.count // len(found)), chosen.seed, chosen.device)
        total, faults = total + report.endings, faults + report.faults
        print(f"{definition.id[:60]:60} {dict(report.endings)}", flush=True)
    print(f"{sum(total.values()):,} snapshots of {len(found)} worlds: {dict(total)}")
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
