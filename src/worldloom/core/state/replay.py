"""Replays: one recorded episode of one world, repeated in a simulation of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from worldloom.core.base.errors import CapacityError, InputError
from worldloom.core.model.columns import WORLD
from worldloom.core.model.entity import AGENT_FIELDS, ENGINE_FIELDS
from worldloom.core.schedule.table_views import FINAL
from worldloom.core.state.replay_log import Chunk, Episode, ReplayLog
from worldloom.core.state.world_digest import WorldDigest

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation


class Replay:
    """Replays one episode. Iterating takes its steps and yields the simulation after each of them.

    After the last step the state equals that of the world in its batch: with same-step autoreset, the state of the next
    episode, with the end of this one in the ``final_`` columns.

    Attributes:
        episode: The episode.
        simulation: The world alone, at the start of the episode, or at the first recorded step where the log begins
            later.
    """

    simulation_class: ClassVar[type[Simulation]]
    """:class:`worldloom.Simulation`, set by its module, which imports this one."""

    def __init__(self, log: ReplayLog, episode: Episode, device: str, verify: bool) -> None:
        self.log, self.episode, self.verify = log, episode, verify
        self._row = log.row(episode.world)
        self.simulation: Simulation = self.simulation_class(
            log.definition,
            1,
            device,
            seed=0,
            autoreset=log.autoreset,
            checks=log.checks,
            exact=log.exact,
            world_offset=log.world_offset + episode.world,
            kernels_for=log.batch,
        )
        self._digest = (
            WorldDigest(self.simulation, slice(None)) if verify and _same_bits(log, self.simulation) else None
        )
        self._seek(*episode.step_positions[0])

    def __len__(self) -> int:
        """Number of steps."""
        return len(self.episode)

    def __iter__(self) -> Iterator[Simulation]:
        for index, (number, step) in enumerate(self.episode.step_positions):
            if index > 0 and step == 0:
                self._restore(self.log.chunks[number])
            self._take_step(self.log.chunks[number], step)
            if self.verify:
                self._check(self.log.chunks[number], step)
            yield self.simulation

    def run(self) -> Simulation:
        """Take all steps."""
        for _ in self:
            pass
        return self.simulation

    def __enter__(self) -> Replay:
        return self

    def __exit__(self, *details: object) -> None:
        self.simulation.close()

    def _seek(self, number: int, step: int) -> None:
        """Bring the world to its state before ``step`` of a chunk.

        A reset is enough where the episode depends on nothing before it; otherwise the earlier steps are repeated.
        """
        chunk = self.log.chunks[number]
        self._restore(chunk)
        if step > 0 and self.episode.first_step == 0 and _reset_is_complete(self.simulation):
            self._reset(self.episode.seed, self.episode.number - 1)
            return
        for earlier in range(step):
            self._reset_as_logged(chunk, earlier)
            self._take_step(chunk, earlier)
        self._reset_as_logged(chunk, step)

    def _restore(self, chunk: Chunk) -> None:
        self.simulation.restore(chunk.state[self._row])

    def _take_step(self, chunk: Chunk, step: int) -> None:
        row = slice(self._row, self._row + 1)
        with suppress(CapacityError):  # as recorded: the world was reset, and the log holds the steps after that
            self.simulation.step({name: actions[step, row] for name, actions in chunk.actions.items()} or None)

    def _reset_as_logged(self, chunk: Chunk, step: int) -> None:
        for seed, before in chunk.resets.at(step, self._row):
            self._reset(seed, before)

    def _reset(self, seed: int, before: int) -> None:
        """Start the episode that follows episode ``before`` of ``seed``, whose upper half the chunk's state has set."""
        world = self.simulation.tables[WORLD]
        world["seed"].fill(seed & 0xFFFFFFFF)
        world["episode"].fill(before)
        with suppress(CapacityError):
            self.simulation.reset()

    def _check(self, chunk: Chunk, step: int) -> None:
        world, row = self.simulation.tables[WORLD], self._row
        flags = int(world["terminated"].numpy()[0]) + 2 * int(world["truncated"].numpy()[0])
        differs = flags != int(chunk.flags[step, row])
        if not differs and self._digest is not None and chunk.digests is not None:
            differs = int(self._digest()[0]) != int(chunk.digests[step, row])
        if differs:
            raise InputError(
                f"the replay of world {self.episode.world}, episode {self.episode.number} leaves the log at its step "
                f"{self._steps_before(chunk, step)}: the world's columns were written to while it was recorded, "
                "a callable of its schedule depends on more than the world, or the device rounds differently; "
                "verify=False replays it without this check"
            )

    def _steps_before(self, chunk: Chunk, step: int) -> int:
        number = next(i for i, known in enumerate(self.log.chunks) if known is chunk)
        return self.episode.first_step + self.episode.step_positions.index((number, step))


def _same_bits(log: ReplayLog, simulation: Simulation) -> bool:
    """Whether the device of the replay computes the same bits as that of the log."""
    return log.exact or (log.device == "cuda") == bool(simulation.device.is_cuda)


def _reset_is_complete(simulation: Simulation) -> bool:
    """Whether no state of earlier episodes survives a reset."""
    if simulation.has_host_calls:
        return False
    known = {(WORLD, name) for name in ENGINE_FIELDS} | {(t, name) for t in simulation.tables for name in AGENT_FIELDS}
    return not any(_survives_reset(c, known) for t in simulation.tables.values() for c in t.all_columns.values())


def _survives_reset(column: Any, known: set[tuple[str, str]]) -> bool:
    persistent = column.field.keep and not column.field.name.startswith(FINAL)
    return persistent and (column.table, column.field.name) not in known
