"""Replays: one episode of one world out of a log, played again in a simulation of its own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, ClassVar

from worldloom.core.base.errors import CapacityError, InputError
from worldloom.core.model.columns import WORLD
from worldloom.core.model.entity import AGENT_FIELDS, ENGINE_FIELDS
from worldloom.core.schedule.lifecycle import FINAL
from worldloom.core.state.replay_log import Chunk, Episode, ReplayLog
from worldloom.core.state.world_digest import WorldDigest

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation


class Replay:
    """Plays one episode again. Iterating takes its steps, and gives the simulation after each of them.

    After the last step the simulation stands as the world stood in its batch: with same-step autoreset in the next episode, and the
    end of this one in the ``final_`` columns.

    Attributes:
        episode: What is played.
        simulation: The world alone, at the beginning of the episode or, where the log begins later, at the first step that it has.
    """

    simulation_class: ClassVar[type[Simulation]]
    """:class:`worldloom.Simulation`, set by its module, which stands above this one."""

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
        )
        self._digest = (
            WorldDigest(self.simulation, slice(None)) if verify and _same_bits(log, self.simulation) else None
        )
        self._seek(*episode.step_positions[0])

    def __len__(self) -> int:
        """How many steps it has."""
        return len(self.episode)

    def __iter__(self) -> Iterator[Simulation]:
        for place, (number, step) in enumerate(self.episode.step_positions):
            if place > 0 and step == 0:
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
        """Bring the world to where it stood before ``step`` of a chunk, at once where its episode depends on nothing before it."""
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
        with suppress(CapacityError):  # as it happened: the world was reset, and the steps after it are in the log
            self.simulation.step({name: actions[step, row] for name, actions in chunk.actions.items()} or None)

    def _reset_as_logged(self, chunk: Chunk, step: int) -> None:
        for seed, before in chunk.resets.at(step, self._row):
            self._reset(seed, before)

    def _reset(self, seed: int, before: int) -> None:
        """Begin the episode that follows episode ``before`` of ``seed``."""
        world = self.simulation.tables[WORLD]
        world["seed"].fill(seed)
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
                f"{self._steps_before(chunk, step)}: somebody wrote into the world's columns while it was recorded, a callable of its schedule "
                "depends on more than the world, or the device rounds differently; verify=False plays it all the same"
            )

    def _steps_before(self, chunk: Chunk, step: int) -> int:
        numbers = [
            place
            for place, (c, s) in enumerate(self.episode.step_positions)
            if self.log.chunks[c] is chunk and s == step
        ]
        return self.episode.first_step + numbers[0]


def _same_bits(log: ReplayLog, simulation: Simulation) -> bool:
    """Whether the device of the replay computes the same bits as that of the log."""
    return log.exact or (log.device == "cuda") == bool(simulation.device.is_cuda)


def _reset_is_complete(simulation: Simulation) -> bool:
    """Whether a reset leaves nothing of earlier episodes behind that a later one could depend on."""
    if simulation.has_host_calls:
        return False
    known = {(WORLD, name) for name in ENGINE_FIELDS} | {(t, name) for t in simulation.tables for name in AGENT_FIELDS}
    return not any(
        _survives_reset(c, known) for t in simulation.tables.values() for c in (*t.columns.values(), *t.extra.values())
    )


def _survives_reset(column: Any, known: set[tuple[str, str]]) -> bool:
    kept = column.field.keep and not column.field.name.startswith(FINAL)
    return kept and (column.table, column.field.name) not in known
