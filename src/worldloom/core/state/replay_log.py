"""Replay logs: recorded steps, the episodes in them, and their files."""

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
from worldloom.core.registry.definition import Definition
from worldloom.core.schedule.entries import Autoreset
from worldloom.core.state.columns import SEED_COLUMN
from worldloom.core.state.snapshot import Snapshot

if TYPE_CHECKING:
    from worldloom.core.state.replay import Replay

KIND, VERSION = "replay log", 1
TERMINATED, TRUNCATED = 1, 2


@dataclass(frozen=True)
class Resets:
    """The calls of ``Simulation.reset`` between the steps of a chunk, in order; W worlds.

    Attributes:
        before: The step of the chunk that follows each of the R resets, int64 of shape (R,).
        mask: The worlds that were reset, of shape (R, W).
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
        """(Lower half of the seed, episode before) of each reset of the world in ``row`` just before ``step``."""
        resets = [i for i in range(len(self.before)) if int(self.before[i]) == step and bool(self.mask[i, row])]
        return [(int(self.seeds[i, row]) & 0xFFFFFFFF, int(self.episodes[i, row])) for i in resets]


@dataclass(frozen=True)
class Chunk:
    """Consecutive steps with nothing but resets between them; T steps of W worlds, on the host.

    Attributes:
        state: The worlds before the first step.
        actions: The actions of every step by ``Table.name``, of shape (T, W, count, ...).
        flags: After every step, 1 for terminated and 2 for truncated, uint8 of shape (T, W).
        digests: A digest of every world after every step, int32 of shape (T, W); None where they were not recorded.
        resets: The calls of ``Simulation.reset``.
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
    """An episode of one world, as far as it was recorded.

    Attributes:
        world: The index of the world in its batch.
        number: The number of the episode, counted from 0.
        seed: The world's seed.
        first_step: The first recorded step of the episode; 0 where it was recorded from its start.
        terminated, truncated: How it ended; neither where it continues after the log.
        step_positions: The position of each step: the index of its chunk, and its index in the chunk.
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
    """Recorded steps of a batch of worlds. Any episode of any world can be replayed alone.

    Attributes:
        definition: The world, with the options of its alternatives.
        autoreset, checks, exact, world_offset: Those of the simulation.
        device: The simulation's device: ``python``, ``cpu`` or ``cuda``.
        worlds: The indices of the recorded worlds, shape (W,).
        chunks: The steps.
        batch: The number of worlds that the simulation's kernels were chosen for.
    """

    definition: Definition
    autoreset: Autoreset
    checks: bool
    exact: bool
    world_offset: int
    device: str
    worlds: np.ndarray[Any, Any]
    chunks: Sequence[Chunk]
    batch: int

    def with_chunks(self, chunks: Sequence[Chunk]) -> ReplayLog:
        return replace(self, chunks=list(chunks))

    def __len__(self) -> int:
        return sum(len(chunk) for chunk in self.chunks)

    def __repr__(self) -> str:
        return f"<replay log: {len(self):,} steps of {len(self.worlds):,} {self.definition.id} on {self.device}>"

    def row(self, world: int) -> int:
        """The row of a world in the log."""
        rows = np.flatnonzero(self.worlds == world)
        if not rows.size:
            known = f"{len(self.worlds)} worlds, {self.worlds[0]} to {self.worlds[-1]}"
            raise InputError(f"world {world!r} is not in this log of {known}")
        return int(rows[0])

    def episodes(self, world: int) -> list[Episode]:
        """The episodes of a world, in order. A reset with a seed restarts the numbers, so a number can occur again."""
        row = self.row(world)
        episodes: list[Episode] = []
        for number, chunk in enumerate(self.chunks):
            _EpisodeReader(self, world, row).read(number, chunk, episodes)
        return episodes

    def replay(self, world: int, episode: int | Episode, device: str = "python", verify: bool = True) -> Replay:
        """Replay an episode in a simulation of that world alone.

        Args:
            world: The index of the world in its batch.
            episode: The number of the episode, the last one of that number; or one of :meth:`episodes`.
            device: ``python`` for breakpoints in systems, or any other.
            verify: Whether the first step that differs from the log raises InputError. The flags are compared on every
                device, and all bits where the devices compute the same bits.
        """
        from worldloom.core.state.replay import Replay

        if isinstance(episode, Episode):
            return Replay(self, episode, device, verify)
        episodes = self.episodes(world)
        matches = [candidate for candidate in episodes if candidate.number == episode]
        if not matches:
            known = f"those from {episodes[0].number} to {episodes[-1].number}" if episodes else "none"
            raise InputError(f"episode {episode!r} of world {world} is not in this log: of that world it has {known}")
        return Replay(self, matches[-1], device, verify)

    # -- files -------------------------------------------------------------------------------------------------------

    def save(self, path: str | Path) -> None:
        """Write the log to a file atomically."""
        import torch

        tensors: dict[str, Any] = {"worlds": torch.from_numpy(self.worlds.astype(np.int64))}
        for number, chunk in enumerate(self.chunks):
            parts = {f"state/{n}": t for n, t in chunk.state.tensors.items()} | {
                f"actions/{n}": t for n, t in chunk.actions.items()
            }
            parts |= {f"resets/{n}": t for n, t in vars(chunk.resets).items()} | {"flags": chunk.flags}
            parts |= {} if chunk.digests is None else {"digests": chunk.digests}
            tensors |= {f"{number}/{name}": tensor for name, tensor in parts.items()}
        definition = self.definition
        facts = {
            "world": definition.id,
            "hash": definition.hash,
            "counts": {
                kind.__name__: _saved_limit(count) if isinstance(count, UpTo) else count
                for kind, count in definition.entities.items()
            },
            "autoreset": self.autoreset,
            "checks": self.checks,
            "exact": self.exact,
            "world_offset": self.world_offset,
            "device": self.device,
            "batch": self.batch,
            "options": dict(definition.options),
            "shared": [sorted(chunk.state.shared) for chunk in self.chunks],
        }
        tensor_file.write(path, KIND, VERSION, tensors, facts)

    @classmethod
    def load(cls, path: str | Path, world: str | Definition | None = None) -> ReplayLog:
        """Load what :meth:`save` wrote. InputError where the file is missing, truncated, altered, or of another world.

        Args:
            path: The file.
            world: The world, or its id; None takes the registered world that the file names.
        """
        from worldloom.core.state import replay_file

        contents = tensor_file.read(path, KIND, VERSION)
        return replay_file.parse(contents, world, printable_path(path))


class _EpisodeReader:
    """Assigns the steps of one world of a log to episodes."""

    def __init__(self, log: ReplayLog, world: int, row: int) -> None:
        self.log, self.world, self.row = log, world, row

    def read(self, number: int, chunk: Chunk, episodes: list[Episode]) -> None:
        """Add the steps of one chunk to ``episodes``, those of the chunks before it."""
        row, autoreset = self.row, self.log.autoreset
        episode, seed, length = (int(chunk.state.tensors[f"World.{n}"][row]) for n in ("episode", "seed", "step"))
        upper = chunk.state.tensors.get(SEED_COLUMN)
        high = 0 if upper is None else int(upper[row if len(upper) > 1 else 0]) << 32
        reset_next = autoreset == "next_step" and bool(chunk.state.tensors["World.finished"][row])
        starts = length == 0 or not episodes or _next_step(episodes[-1]) != (episode, length)
        resets = {int(step) for step in chunk.resets.before}
        flags = chunk.flags[:, row].tolist()
        for step, flag in enumerate(flags):
            for new_seed, before in chunk.resets.at(step, row) if step in resets else []:
                seed, episode, length, starts, reset_next = new_seed, before + 1, 0, True, False
            if reset_next:  # this step only resets the world
                episode, length, starts, reset_next = episode + 1, 0, True, False
                continue
            if starts:
                episodes.append(Episode(self.world, episode, seed & 0xFFFFFFFF | high, length))
                starts = False
            episodes[-1].step_positions.append((number, step))
            length += 1
            if flag:
                terminated, truncated = bool(flag & TERMINATED), bool(flag & TRUNCATED)
                episodes[-1] = replace(episodes[-1], terminated=terminated, truncated=truncated)
                reset_next = autoreset == "next_step"
                if autoreset == "same_step":
                    episode, length, starts = episode + 1, 0, True


def _next_step(episode: Episode) -> tuple[int, int]:
    """The number of an episode, and of the step that would continue it."""
    return episode.number, episode.first_step + len(episode)


def _saved_limit(limit: UpTo) -> dict[str, Any]:
    """A capacity as it is saved. Whether the entities are agents is part of the definition."""
    return {name: value for name, value in asdict(limit).items() if name != "agents"}
