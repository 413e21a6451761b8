"""Launch entries of an Atari world's schedule: restore a start state, emulate, draw and observe."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import warp as wp

from worldloom.atari.emulator.emulator_batch import EmulationResult, EmulatorBatch
from worldloom.atari.emulator.rom_bank import RomBank
from worldloom.atari.env.launch_sources import SOURCES
from worldloom.atari.env.restore_kernels import restore
from worldloom.atari.env.start_states import StartPrograms, StartStates, as_words
from worldloom.atari.frames.observe import Bytes, FrameFormat, Observer
from worldloom.core.model.entity import Entity
from worldloom.core.model.launch import Launch, Shard
from worldloom.core.simulation import Simulation

RESULT_COMPONENTS = ("points", "lives", "over", "ran", "newest")
"""Components that hold the result of an emulation, in the order of :class:`EmulationResult`."""
RESTORE_THREADS = 128
"""Threads that copy one state on a GPU."""


@dataclass(frozen=True)
class SimulationBuffers:
    """Arrays shared by the launches of one simulation; ``black`` and ``zeros`` hold a picture and a number per game."""

    emulator: EmulatorBatch
    columns: dict[str, wp.array]
    result: EmulationResult
    machine: wp.array
    pictures: wp.array
    start_inputs: wp.array
    start_frames: wp.array
    power_on: wp.array
    black: wp.array
    zeros: wp.array
    start_states: StartStates

    def emulate(
        self, shard: Shard, pressed: wp.array, frames: wp.array, program: wp.array | None, **options: Any
    ) -> None:
        """Emulate the frames of programs in the consoles of ``shard``; see :class:`EmulatorBatch`."""
        machine, game, pictures = (self.columns[name] for name in ("machine", "game", "pictures"))
        self.emulator.emulate(shard, machine, game, pressed, frames, program, self.result, pictures, **options)


class SharedResources:
    """Resources that the launches of one definition share: games, start programs, and the buffers of each simulation.

    Args:
        rom_bank: The games.
        starts: The start programs.
        kind: Name of the entity that holds the console's state.
    """

    def __init__(self, rom_bank: RomBank, starts: StartPrograms, kind: str) -> None:
        self.rom_bank, self.starts, self.kind = rom_bank, starts, kind
        self._buffers: weakref.WeakKeyDictionary[Simulation, weakref.ref[SimulationBuffers]]
        self._buffers = weakref.WeakKeyDictionary()
        self._states: weakref.WeakValueDictionary[str, StartStates] = weakref.WeakValueDictionary()

    def buffers(self, simulation: Simulation) -> SimulationBuffers:
        """The buffers of a simulation. The caller keeps them alive."""
        reference = self._buffers.get(simulation)
        buffers = None if reference is None else reference()
        if buffers is None:
            buffers = self._allocate(simulation)
            self._buffers[simulation] = weakref.ref(buffers)
        return buffers

    def _allocate(self, simulation: Simulation) -> SimulationBuffers:
        device, games = simulation.device, len(self.rom_bank.table)
        columns = {name: column.array for name, column in simulation.tables[self.kind].all_columns.items()}
        return SimulationBuffers(
            emulator=EmulatorBatch(self.rom_bank, simulation.num_worlds, device),
            columns=columns,
            result=EmulationResult(*(columns[name] for name in RESULT_COMPONENTS)),
            machine=as_words(columns["machine"]),
            pictures=as_words(columns["pictures"]),
            start_inputs=wp.array(self.starts.pressed, dtype=wp.uint8, device=device),
            start_frames=wp.array(self.starts.frames, dtype=wp.int32, device=device),
            power_on=as_words(wp.array(self.rom_bank.power_on, dtype=wp.uint8, device=device)),
            black=as_words(wp.zeros((games, *columns["pictures"].shape[1:]), dtype=wp.uint8, device=device)),
            zeros=wp.zeros(games, dtype=wp.int32, device=device),
            start_states=self._start_states(device),
        )

    def _start_states(self, device: wp.Device) -> StartStates:
        """The start states of episodes, shared by all simulations of a device."""
        states = self._states.get(device.alias)
        if states is None:
            states = self._states[device.alias] = StartStates(self.rom_bank, self.starts, device)
        return states

    def digest(self) -> str:
        """A hash of the games and the start programs."""
        rom_bank, starts = self.rom_bank, self.starts
        digest = hashlib.sha256()
        for array in (rom_bank.words, rom_bank.table, rom_bank.power_on, starts.pressed, starts.frames):
            digest.update(array.tobytes())
        return digest.hexdigest()


class AtariLaunch(Launch):
    """Base of the launches of an Atari world.

    Args:
        resources: Resources shared with the other launches.
        kind: The entity that holds the console's state.

    Attributes:
        read, written: Components of the console that the kernels read and write.
    """

    read: tuple[str, ...] = ()
    written: tuple[str, ...] = ()

    def __init__(self, resources: SharedResources, kind: type[Entity]) -> None:
        self.resources = resources
        self.label = type(self).__name__.lower()
        self.reads, self.writes = {kind: self.read}, {kind: self.written}

    def prepare(self, simulation: Simulation) -> SimulationBuffers:
        return self.resources.buffers(simulation)

    def digest(self) -> str:
        return self.resources.digest()


class Restore(AtariLaunch):
    """Copy the start state of index ``record`` into each console; -1 skips the console."""

    fingerprint_source = SOURCES["Restore"]
    read = ("record",)
    written = ("machine", "pictures", "lives", "over", "newest")

    def launch(self, buffers: SimulationBuffers, shard: Shard) -> None:
        states = buffers.start_states
        self._copy(buffers, shard, states.machine, states.pictures, states.result.lives, states.result.newest)

    def _copy(self, buffers: SimulationBuffers, shard: Shard, *source: Any) -> None:
        result = buffers.result
        threads = RESTORE_THREADS if shard.device.is_cuda else 1
        inputs = [shard.first, shard.mask, shard.value, threads, buffers.columns["record"], *source]
        outputs = [buffers.machine, buffers.pictures, result.lives, result.over, result.newest]
        wp.launch(
            restore,
            shard.count * threads,
            [*inputs, *outputs],
            device=shard.device,
            stream=shard.stream,
            record_tape=False,
        )


class PowerOn(Restore):
    """Power consoles off and on: ``record`` is the game. Their pictures become black."""

    fingerprint_source = SOURCES["PowerOn"]

    def launch(self, buffers: SimulationBuffers, shard: Shard) -> None:
        self._copy(buffers, shard, buffers.power_on, buffers.black, buffers.zeros, buffers.zeros)


class Emulate(AtariLaunch):
    """Emulate the frames of a step.

    Args:
        resources, kind: See :class:`AtariLaunch`.
        window: Number of last frames that can be drawn.
        one_life: Whether the emulation stops when a life is lost.
    """

    fingerprint_source = SOURCES["Emulate"]
    read = ("machine", "game", "pressed", "span")
    written = ("machine", "pictures", *RESULT_COMPONENTS)

    def __init__(self, resources: SharedResources, kind: type[Entity], window: int, one_life: bool) -> None:
        super().__init__(resources, kind)
        self.window, self.one_life = window, one_life
        self.reads = {kind: (*self.read, *(name for name in ("force",) if name in kind.fields))}
        self.writes = {kind: (*self.written, *(name for name in ("shares",) if name in kind.fields))}

    def digest(self) -> str:
        return f"{super().digest()} {self.window} {self.one_life}"

    def launch(self, buffers: SimulationBuffers, shard: Shard) -> None:
        columns = buffers.columns
        buffers.emulate(
            shard,
            columns["pressed"],
            columns["span"],
            None,
            window=self.window,
            one_life=self.one_life,
            force=columns.get("force"),
            shares=columns.get("shares"),
        )


class Follow(AtariLaunch):
    """Emulate the frames of the start program of index ``program``; -1 skips the console.

    Args:
        resources, kind: See :class:`AtariLaunch`.
        window: Number of last frames that can be drawn.
    """

    fingerprint_source = SOURCES["Follow"]
    read = ("machine", "game", "program")
    written = ("machine", "pictures", *RESULT_COMPONENTS)

    def __init__(self, resources: SharedResources, kind: type[Entity], window: int) -> None:
        super().__init__(resources, kind)
        self.window = window

    def digest(self) -> str:
        return f"{super().digest()} {self.window}"

    def launch(self, buffers: SimulationBuffers, shard: Shard) -> None:
        program = buffers.columns["program"]
        buffers.emulate(shard, buffers.start_inputs, buffers.start_frames, program, window=self.window)


class Draw(AtariLaunch):
    """Draw the last two emulated frames."""

    fingerprint_source = SOURCES["Draw"]
    read = ("machine", "game", "pictures", "ran")
    written = ("pictures",)

    def launch(self, buffers: SimulationBuffers, shard: Shard) -> None:
        buffers.emulator.draw(shard, buffers.columns["game"], buffers.columns["pictures"])


class Show(AtariLaunch):
    """Write the observations of one player from the pictures.

    Args:
        resources: Resources shared with the other launches.
        kind: The entity that holds the pictures.
        player: The entity that holds the observation.
        frame_format: Format of the observation.
        heights: Scanlines to show, by game.
        palettes: Palettes by game; see :class:`~worldloom.atari.frames.observe.Observer`.
    """

    fingerprint_source = SOURCES["Show"]
    read = ("pictures", "game", "fresh", "show")

    def __init__(
        self,
        resources: SharedResources,
        kind: type[Entity],
        player: type[Entity],
        frame_format: FrameFormat,
        heights: Sequence[int],
        palettes: Sequence[Bytes],
    ) -> None:
        super().__init__(resources, kind)
        self.frame_format, self.heights, self.palettes = frame_format, tuple(heights), palettes
        self.player = player.__name__
        self.reads = {kind: self.read, player: (*(self.read if player is kind else ()), "screen")}
        self.writes = {player: ("screen",)}

    def prepare(self, simulation: Simulation) -> Any:
        observer = Observer(self.frame_format, self.heights, self.palettes, simulation.device)
        return self.resources.buffers(simulation), observer, simulation.tables[self.player]["screen"].array

    def digest(self) -> str:
        return f"{super().digest()} {self.frame_format.digest()} {self.heights}"

    def launch(self, prepared: Any, shard: Shard) -> None:
        buffers, observer, screen = prepared
        pictures, game, show, fresh = (buffers.columns[name] for name in ("pictures", "game", "show", "fresh"))
        observer.launch(
            pictures,
            game,
            screen,
            show,
            fresh,
            first=shard.first,
            count=shard.count,
            mask=shard.mask,
            value=shard.value,
            stream=shard.stream,
        )
