"""Replay logs: what a recorder wrote down, the episodes in it, and files of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.core.base import tensor_file
from worldloom.core.base.errors import InputError
from worldloom.core.base.paths import printable_path
from worldloom.core.model.population import UpTo
from worldloom.core.registry.registry import Definition
from worldloom.core.schedule.schedule import Autoreset
from worldloom.core.state.snapshot import Snapshot

if TYPE_CHECKING:
    from worldloom.core.state.replay import Replay

KIND, VERSION = "replay log", 1
TERMINATED, TRUNCATED = 1, 2


@dataclass(frozen=True)
class Resets:
    """The resets from outside between the steps of a chunk, in order; W worlds.

    Attributes:
        before: The step of the chunk that each of the R resets came before, int64 of shape (R,).
        mask: Which worlds it was for, of shape (R, W).
        seeds, episodes: The seed of every world and its episode just before the reset, of shape (R, W).
    """

    before: Any
    mask: Any
    seeds: Any
    episodes: Any

    @classmethod
    def of(cls, resets: Sequence[tuple[int, Any, Any, Any]], worlds: int) -> Resets:
        """From (before, mask, seeds, episodes) of each reset, on any device."""
        import torch

        def stack(rows: list[Any], dtype: Any) -> Any:
            return torch.stack([row.cpu() for row in rows]) if rows else torch.empty((0, worlds), dtype=dtype)

        before = torch.tensor([reset[0] for reset in resets], dtype=torch.int64)
        mask, seeds, episodes = ([reset[part] for reset in resets] for part in (1, 2, 3))
        return cls(before, stack(mask, torch.uint8), stack(seeds, torch.int32), stack(episodes, torch.int32))

    def at(self, step: int, row: int) -> list[tuple[int, int]]:
        """The (seed, episode before) of each reset of the world in ``row`` that came before ``step``."""
        found = [i for i in range(len(self.before)) if int(self.before[i]) == step and bool(self.mask[i, row])]
        return [(int(self.seeds[i, row]) & 0xFFFFFFFF, int(self.episodes[i, row])) for i in found]


@dataclass(frozen=True)
class Chunk:
    """Steps in a row, between which nothing but resets happened; T steps of W worlds, on the host.

    Attributes:
        state: The worlds before the first step.
        actions: The actions of every step by ``Table.name``, of shape (T, W, count, ...).
        flags: After every step, 1 for terminated and 2 for truncated, uint8 of shape (T, W).
        digests: A digest of every world after every step, int32 of shape (T, W); None where none were wanted.
        resets: The resets from outside.
    """

    state: Snapshot
    actions: Mapping[str, Any]
    flags: Any
    digests: Any
    resets: Resets

    def __len__(self) -> int:
        return len(self.flags)


@dataclass(frozen=True)
class Episode:
    """An episode of one world, as far as it was written down.

    Attributes:
        world: The number of the world in its batch.
        number: Its episode, counted from 0.
        seed: The world's seed.
        first_step: Steps that the episode had when the log begins with it; 0 where it is there from its beginning.
        terminated, truncated: How it ended; neither where it goes on after the log.
        moves: Where its steps stand: the chunk, and the step in it.
    """

    world: int
    number: int
    seed: int
    first_step: int
    terminated: bool = False
    truncated: bool = False
    step_positions: list[tuple[int, int]] = field(default_factory=list, repr=False)

    def __len__(self) -> int:
        return len(self.step_positions)


@dataclass(frozen=True)
class ReplayLog:
    """Steps of a batch of worlds, from which any episode of any world is played again alone.

    Attributes:
        definition: The world.
        autoreset, checks, exact, world_offset: Those of the simulation.
        device: What it ran on: ``python``, ``cpu`` or ``cuda``.
        worlds: The numbers of the worlds that were written down, shape (W,).
        chunks: The steps.
    """

    definition: Definition
    autoreset: Autoreset
    checks: bool
    exact: bool
    world_offset: int
    device: str
    worlds: np.ndarray[Any, Any]
    chunks: Sequence[Chunk]

    def with_chunks(self, chunks: Sequence[Chunk]) -> ReplayLog:
        return replace(self, chunks=list(chunks))

    def __len__(self) -> int:
        return sum(len(chunk) for chunk in self.chunks)

    def __repr__(self) -> str:
        return f"<replay log: {len(self):,} steps of {len(self.worlds):,} {self.definition.id} on {self.device}>"

    def row(self, world: int) -> int:
        """The place of a world in the log."""
        found = np.flatnonzero(self.worlds == world)
        if not found.size:
            raise InputError(
                f"world {world!r} is not in this log of {len(self.worlds)} worlds, {self.worlds[0]} to {self.worlds[-1]}"
            )
        return int(found[0])

    def episodes(self, world: int) -> list[Episode]:
        """The episodes of a world, in order. A number comes up again where a reset with a seed began to count anew."""
        row = self.row(world)
        found: list[Episode] = []
        for number, chunk in enumerate(self.chunks):
            _Reader(self, world, row).read(number, chunk, found)
        return found

    def replay(self, world: int, episode: int | Episode, device: str = "python", verify: bool = True) -> Replay:
        """Play an episode again, in a simulation of that world alone.

        Args:
            world: The number of the world in its batch.
            episode: The number of the episode, the last one of that number; or one of :meth:`episodes`.
            device: ``python`` to look into it with breakpoints, or any other.
            verify: Whether an InputError is raised at the first step that differs from the log: in the flags on every device, and in
                every bit where the devices compute the same bits.
        """
        from worldloom.core.state.replay import Replay

        if isinstance(episode, Episode):
            return Replay(self, episode, device, verify)
        there = self.episodes(world)
        chosen = [e for e in there if e.number == episode]
        if not chosen:
            known = f"those from {there[0].number} to {there[-1].number}" if there else "none"
            raise InputError(f"episode {episode!r} of world {world} is not in this log: of that world it has {known}")
        return Replay(self, chosen[-1], device, verify)

    # -- files -------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the log to a file, which is there as a whole or not at all."""
        import torch

        tensors: dict[str, Any] = {"worlds": torch.from_numpy(self.worlds.astype(np.int64))}
        for number, chunk in enumerate(self.chunks):
            parts = {f"state/{n}": t for n, t in chunk.state.tensors.items()} | {
                f"actions/{n}": t for n, t in chunk.actions.items()
            }
            parts |= {f"resets/{n}": t for n, t in vars(chunk.resets).items()} | {"flags": chunk.flags}
            parts |= {} if chunk.digests is None else {"digests": chunk.digests}
            tensors |= {f"{number}/{name}": tensor for name, tensor in parts.items()}
        made = self.definition
        facts = {
            "world": made.id,
            "hash": made.hash,
            "counts": {
                kind.__name__: asdict(count) if isinstance(count, UpTo) else count
                for kind, count in made.entities.items()
            },
            "autoreset": self.autoreset,
            "checks": self.checks,
            "exact": self.exact,
            "world_offset": self.world_offset,
            "device": self.device,
            "shared": [sorted(chunk.state.shared) for chunk in self.chunks],
        }
        tensor_file.write(path, KIND, VERSION, tensors, facts)

    @classmethod
    def load(cls, path: str | Path, world: str | Definition | None = None) -> ReplayLog:
        """What :meth:`save` wrote. InputError where the file is missing, cut short, altered, or of another world.

        Args:
            path: The file.
            world: The world, or its id; None looks among the registered worlds for the one that the file names.
        """
        from worldloom.core.state import replay_file

        contents = tensor_file.read(path, KIND, VERSION)
        return replay_file.parse(contents, world, printable_path(path))


class _Reader:
    """Follows one world through a log, and sorts its steps by episodes."""

    def __init__(self, log: ReplayLog, world: int, row: int) -> None:
        self.log, self.world, self.row = log, world, row

    def read(self, number: int, chunk: Chunk, found: list[Episode]) -> None:
        """Add the steps of one chunk to the episodes ``found`` so far."""
        row, autoreset = self.row, self.log.autoreset
        episode, seed, taken = (int(chunk.state.tensors[f"World.{n}"][row]) for n in ("episode", "seed", "step"))
        resting = autoreset == "next_step" and bool(chunk.state.tensors["World.finished"][row])
        fresh = taken == 0 or not found or (found[-1].number, found[-1].first_step + len(found[-1])) != (episode, taken)
        resets = {int(step) for step in chunk.resets.before}
        flags = chunk.flags[:, row].tolist()
        for step, flag in enumerate(flags):
            for given, before in chunk.resets.at(step, row) if step in resets else []:
                seed, episode, taken, fresh, resting = given, before + 1, 0, True, False
            if resting:  # this step did nothing but begin the next episode
                episode, taken, fresh, resting = episode + 1, 0, True, False
                continue
            if fresh:
                found.append(Episode(self.world, episode, seed & 0xFFFFFFFF, taken))
                fresh = False
            found[-1].step_positions.append((number, step))
            taken += 1
            if flag:
                found[-1] = replace(found[-1], terminated=bool(flag & TERMINATED), truncated=bool(flag & TRUNCATED))
                resting = autoreset == "next_step"
                if autoreset == "same_step":
                    episode, taken, fresh = episode + 1, 0, True
