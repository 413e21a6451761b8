"""The entries of an Atari world's schedule that launch kernels: begin an episode from a kept state, emulate, draw, and look."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import warp as wp

from worldloom.atari.emulator.console import EmulationResult, EmulatorBatch, RomBank
from worldloom.atari.env.restore_kernels import restore
from worldloom.atari.env.start_states import StartPrograms, StartStates, as_words
from worldloom.atari.frames.observe import Bytes, Look, Observer
from worldloom.core.model.entity import Entity
from worldloom.core.model.launch import Launch, Shard
from worldloom.core.simulation import Simulation

OUTCOME = ("points", "lives", "over", "ran", "newest")
"""The components that hold what became of a console."""
LANES = 128
"""Threads that copy a state together on a GPU."""


@dataclass(frozen=True)
class Prepared:
    """What the launches of one simulation share; ``blank`` and ``nothing`` are a black picture and a 0 for each game."""

    bench: EmulatorBatch
    column: dict[str, wp.array]
    outcome: EmulationResult
    machine: wp.array
    pictures: wp.array
    pressed: wp.array
    frames: wp.array
    power_on: wp.array
    blank: wp.array
    nothing: wp.array
    states: StartStates


class Workshop:
    """What the launches of one definition share: the games, the starts of their episodes, and the memory of each simulation.

    Args:
        shelf: The games as the kernels take them.
        starts: How episodes begin.
        kind: The entity with the console's state.
    """

    def __init__(self, rom_bank: RomBank, starts: StartPrograms, kind: str) -> None:
        self.rom_bank, self.starts, self.kind = rom_bank, starts, kind
        self._prepared: weakref.WeakKeyDictionary[Simulation, weakref.ref[Prepared]] = weakref.WeakKeyDictionary()
        self._states: weakref.WeakValueDictionary[str, StartStates] = weakref.WeakValueDictionary()

    def prepared(self, simulation: Simulation) -> Prepared:
        """The memory of a simulation; whoever asks for it keeps it."""
        known = self._prepared.get(simulation)
        found = None if known is None else known()
        if found is None:
            found = self._prepare(simulation)
            self._prepared[simulation] = weakref.ref(found)
        return found

    def _prepare(self, simulation: Simulation) -> Prepared:
        device = simulation.device
        column = {name: column.array for name, column in simulation.tables[self.kind].columns.items()}
        return Prepared(
            bench=EmulatorBatch(self.rom_bank, simulation.num_worlds, device),
            column=column,
            outcome=EmulationResult(*(column[name] for name in OUTCOME)),
            machine=as_words(column["machine"]),
            pictures=as_words(column["pictures"]),
            pressed=wp.array(self.starts.pressed, dtype=wp.uint8, device=device),
            frames=wp.array(self.starts.frames, dtype=wp.int32, device=device),
            power_on=as_words(wp.array(self.rom_bank.power_on, dtype=wp.uint8, device=device)),
            blank=as_words(
                wp.zeros((len(self.rom_bank.table), *column["pictures"].shape[1:]), dtype=wp.uint8, device=device)
            ),
            nothing=wp.zeros(len(self.rom_bank.table), dtype=wp.int32, device=device),
            states=self._start_states(device),
        )

    def _start_states(self, device: wp.Device) -> StartStates:
        """The states that episodes begin with, which all simulations of a device share."""
        found = self._states.get(device.alias)
        if found is None:
            found = self._states[device.alias] = StartStates(self.rom_bank, self.starts, device)
        return found

    def digest(self) -> str:
        """A hash over the games and the starts."""
        found = hashlib.sha256()
        for part in (
            self.rom_bank.words,
            self.rom_bank.table,
            self.rom_bank.power_on,
            self.starts.pressed,
            self.starts.frames,
        ):
            found.update(part.tobytes())
        return found.hexdigest()


class AtariLaunch(Launch):
    """A launch of an Atari world.

    Args:
        workshop: What it shares with the others.
        reads, writes: The components of the console that it looks at and changes.
    """

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()

    def __init__(self, workshop: Workshop, kind: type[Entity]) -> None:
        self.workshop = workshop
        self.label = type(self).__name__.lower()
        self.reads, self.writes = {kind: self.read}, {kind: self.written}

    def prepare(self, simulation: Simulation) -> Prepared:
        return self.workshop.prepared(simulation)

    def digest(self) -> str:
        return self.workshop.digest()


class Restore(AtariLaunch):
    """Put consoles into the start that ``record`` names; -1 leaves one alone."""

    read = ("record",)
    written = ("machine", "pictures", "lives", "over", "newest")

    def launch(self, prepared: Prepared, shard: Shard) -> None:
        states = prepared.states
        self._copy(prepared, shard, states.machine, states.pictures, states.outcome.lives, states.outcome.newest)

    def _copy(self, prepared: Prepared, shard: Shard, *source: Any) -> None:
        column, told = prepared.column, prepared.outcome
        lanes = LANES if shard.device.is_cuda else 1
        inputs = [shard.first, shard.mask, shard.value, lanes, column["record"], *source]
        outputs = [prepared.machine, prepared.pictures, told.lives, told.over, told.newest]
        wp.launch(
            restore,
            shard.count * lanes,
            [*inputs, *outputs],
            device=shard.device,
            stream=shard.stream,
            record_tape=False,
        )


class PowerOn(Restore):
    """Switch consoles off and on: ``record`` is the game. Their pictures are black, as those of a television that is switched on."""

    def launch(self, prepared: Prepared, shard: Shard) -> None:
        self._copy(prepared, shard, prepared.power_on, prepared.blank, prepared.nothing, prepared.nothing)


class Emulate(AtariLaunch):
    """Emulate the frames of a step.

    Args:
        window: How many of its last frames can be drawn.
        one_life: Whether it ends where a life is lost.
    """

    read = ("machine", "game", "pressed", "span")
    written = ("machine", "pictures", *OUTCOME)

    def __init__(self, workshop: Workshop, kind: type[Entity], window: int, one_life: bool) -> None:
        super().__init__(workshop, kind)
        self.window, self.one_life = window, one_life
        self.reads = {kind: (*self.read, *(name for name in ("force",) if name in kind.fields))}
        self.writes = {kind: (*self.written, *(name for name in ("shares",) if name in kind.fields))}

    def digest(self) -> str:
        return f"{super().digest()} {self.window} {self.one_life}"

    def launch(self, prepared: Prepared, shard: Shard) -> None:
        machine, game, pressed, span, pictures = (
            prepared.column[name] for name in ("machine", "game", "pressed", "span", "pictures")
        )
        inputs = (machine, game, pressed, span, None, prepared.outcome, pictures)
        force, shares = (prepared.column.get(name) for name in ("force", "shares"))
        prepared.bench.emulate(shard, *inputs, window=self.window, one_life=self.one_life, force=force, shares=shares)


class Follow(AtariLaunch):
    """Emulate the frames of the program that ``program`` names; -1 leaves a console alone.

    Args:
        window: How many of its last frames can be drawn.
    """

    read = ("machine", "game", "program")
    written = ("machine", "pictures", *OUTCOME)

    def __init__(self, workshop: Workshop, kind: type[Entity], window: int) -> None:
        super().__init__(workshop, kind)
        self.window = window

    def digest(self) -> str:
        return f"{super().digest()} {self.window}"

    def launch(self, prepared: Prepared, shard: Shard) -> None:
        machine, game, program, pictures = (
            prepared.column[name] for name in ("machine", "game", "program", "pictures")
        )
        prepared.bench.emulate(
            shard,
            machine,
            game,
            prepared.pressed,
            prepared.frames,
            program,
            prepared.outcome,
            pictures,
            window=self.window,
        )


class Draw(AtariLaunch):
    """Draw the last two frames that were emulated."""

    read = ("machine", "game", "pictures", "ran")
    written = ("pictures",)

    def launch(self, prepared: Prepared, shard: Shard) -> None:
        prepared.bench.draw(shard, prepared.column["game"], prepared.column["pictures"])


class Show(AtariLaunch):
    """Show the pictures to a player.

    Args:
        kind: What holds the pictures.
        player: Who sees them.
        look: How.
        heights: The lines that are shown, by game.
        palettes: By game, as :class:`~worldloom.atari.frames.observe.Observer` takes them.
    """

    read = ("pictures", "game", "fresh", "show")

    def __init__(
        self,
        workshop: Workshop,
        kind: type[Entity],
        player: type[Entity],
        look: Look,
        heights: Sequence[int],
        palettes: Sequence[Bytes],
    ) -> None:
        super().__init__(workshop, kind)
        self.look, self.heights, self.palettes, self.player = look, tuple(heights), palettes, player.__name__
        self.reads = {kind: self.read, player: (*(self.read if player is kind else ()), "screen")}
        self.writes = {player: ("screen",)}

    def prepare(self, simulation: Simulation) -> Any:
        observer = Observer(self.look, self.heights, self.palettes, simulation.device)
        return self.workshop.prepared(simulation), observer, simulation.tables[self.player]["screen"].array

    def digest(self) -> str:
        return f"{super().digest()} {self.look} {self.heights}"

    def launch(self, prepared: Any, shard: Shard) -> None:
        shared, observer, screen = prepared
        pictures, game, show, fresh = (shared.column[name] for name in ("pictures", "game", "show", "fresh"))
        where = {
            "first": shard.first,
            "count": shard.count,
            "mask": shard.mask,
            "value": shard.value,
            "stream": shard.stream,
        }
        observer.launch(pictures, game, screen, show, fresh, **where)
