"""Definition of an Atari world: one console per world, its schedule, its observations and its renderer."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from worldloom.atari.emulator.console_kernels import EVERY_FRAME
from worldloom.atari.emulator.emulator_batch import next_picture
from worldloom.atari.emulator.machine_state import state_check
from worldloom.atari.emulator.rom_bank import RomBank
from worldloom.atari.env.boot import counted_boot_frames
from worldloom.atari.env.console_entities import GameConstants
from worldloom.atari.env.episode_rules import WorldParts, build_world_parts
from worldloom.atari.env.game_selection import GameSpec, game_specs, rom_bank_of
from worldloom.atari.env.launches import Draw, Emulate, Follow, PowerOn, Restore, SharedResources, Show
from worldloom.atari.env.settings import LIMITS, Like, Settings, format_settings, resolve_settings
from worldloom.atari.env.start_states import StartPrograms, start_programs
from worldloom.atari.frames.observe import MAX_LINES, Bytes, FrameFormat
from worldloom.atari.frames.palettes import colours, greys
from worldloom.atari.games.game_table import ALE
from worldloom.atari.native import WIDTH
from worldloom.core.model.observation_layout import ChannelOrder
from worldloom.core.registry.definition import Definition, PhaseEntry, Renderer
from worldloom.core.simulation import Simulation

WORLDS_PER_THREAD = 4
FRAMES_PER_SECOND = 60
ENVPOOL_LINES = 210
"""Maximum number of scanlines that EnvPool shows; taller pictures are cut at the bottom."""


def atari(games: str | Sequence[str], *, like: Like = "envpool", **settings: Any) -> Definition:
    """The definition of an Atari world, for :class:`worldloom.Simulation` and :func:`worldloom.make`.

    Args:
        games: A game as ``ms_pacman`` or ``MsPacman-v5``, or the path of a ROM; or several of them. World k then plays
            game k modulo their number, and all games have the 18 actions.
        like: Source of the default settings: EnvPool, ale-py's vector environment, or Gymnasium.
        settings: Fields of :class:`worldloom.atari.env.settings.Settings`.
    """
    resolved = resolve_settings({**settings, "like": like})
    return define(game_specs([games] if isinstance(games, str) else list(games), resolved), resolved)


def define(specs: tuple[GameSpec, ...], settings: Settings) -> Definition:
    """The definition of the world of these games with these settings."""
    rom_bank, starts = rom_bank_of(specs), start_programs(specs, settings)
    frame_format, heights, palettes = _observed_frames(specs, settings)
    shape = _observation_shape(frame_format, max(heights), settings)
    channels: ChannelOrder = "first" if len(shape) == 3 and frame_format.colour != "pixels" else "last"
    parts = build_world_parts(_game_constants(specs, settings, rom_bank, starts, shape, channels), settings)
    resources = SharedResources(rom_bank, starts, parts.console.__name__)
    ram_only = settings.obs_type == "ram"  # no frame is logged or drawn, except for a renderer
    window = 0 if ram_only else settings.skips[1] if settings.like == "gymnasium" else 2
    one_life = settings.episodic_life and settings.like == "vector"
    step: list[PhaseEntry] = [
        *parts.press,
        Emulate(resources, parts.console, window, one_life),
        *_draw_entries(resources, parts, settings),
        *parts.judge,
    ]
    observers = [
        Show(resources, parts.console, player, frame_format, heights, palettes)
        for player in parts.players
        if not parts.read_memory
    ]
    return Definition(
        _id(specs, settings),
        parts.world,
        dict.fromkeys((parts.console, *parts.players), 1),
        reset=tuple(_reset_entries(resources, parts, settings)),
        step=tuple(step),
        observe=(*parts.read_memory, *observers),
        max_steps=settings.max_episode_steps,
        doc=_doc(specs),
        render=_renderer(specs, rom_bank, ram_only),
        frames_per_second=max(1, FRAMES_PER_SECOND // settings.skips[1]),
        notice="; ".join(spec.rom.notice for spec in specs if spec.rom.notice),
        limits=LIMITS,
        worlds_per_thread=WORLDS_PER_THREAD,
        file=__file__,
    ).checked


def _game_constants(
    specs: tuple[GameSpec, ...],
    settings: Settings,
    rom_bank: RomBank,
    starts: StartPrograms,
    shape: tuple[int, ...],
    channels: ChannelOrder,
) -> GameConstants:
    buttons = np.array([spec.choices(settings, len(specs) > 1) for spec in specs], np.int32)
    boot_frames = [
        0
        if spec.game is None or spec.variant is not None
        else counted_boot_frames(spec.game, spec.mode, spec.difficulty)
        for spec in specs
    ]
    waits = starts.rests + np.repeat(boot_frames, starts.count // len(specs)).astype(np.int32)
    return GameConstants(
        record=rom_bank.record,
        lines=rom_bank.height,
        seen=shape,
        channels=channels,
        buttons=buttons,
        fires=starts.fires.astype(np.int32),
        waits=waits,
        noops=starts.noops,
        check=state_check(rom_bank.table),
    )


def _reset_entries(resources: SharedResources, parts: WorldParts, settings: Settings) -> list[PhaseEntry]:
    """Start of an episode: from a stored start state, from power-on, or as the continuation of a game."""
    continues = settings.episodic_life and settings.like != "vector"
    entries: list[PhaseEntry] = [
        *parts.choose,
        (PowerOn if settings.exact_start else Restore)(resources, parts.console),
    ]
    if settings.exact_start or continues:
        window = 0 if settings.obs_type == "ram" else EVERY_FRAME if settings.exact_start else 2
        entries += [Follow(resources, parts.console, window), *_draw_entries(resources, parts, settings)]
    if continues:
        entries += [*parts.begin_again, Restore(resources, parts.console)]
    return [*entries, *parts.settle_in]


def _draw_entries(resources: SharedResources, parts: WorldParts, settings: Settings) -> list[PhaseEntry]:
    """The drawing of emulated frames, unless observations are RAM."""
    return [] if settings.obs_type == "ram" else [Draw(resources, parts.console)]


def _observed_frames(specs: tuple[GameSpec, ...], settings: Settings) -> tuple[FrameFormat, list[int], list[Bytes]]:
    """The format of observations, with the visible scanlines and the palette of each game."""
    channels_last = settings.stack_num == 1 and settings.like != "envpool"
    frame_format = FrameFormat(
        settings.img_height,
        settings.img_width,
        settings.stack_num,
        "grey" if settings.gray_scale else "pixels" if channels_last else "planes",
        settings.use_inter_area_resize,
        "zero" if settings.like == "vector" else "repeat",
    )
    max_height = ENVPOOL_LINES if settings.like == "envpool" else MAX_LINES
    palette = greys if settings.gray_scale else colours
    return (
        frame_format,
        [min(spec.television.height, max_height) for spec in specs],
        [palette(spec.television.format) for spec in specs],
    )


def _observation_shape(frame_format: FrameFormat, lines: int, settings: Settings) -> tuple[int, ...]:
    size = (frame_format.height or lines, frame_format.width or WIDTH)
    if frame_format.colour == "pixels":
        return (*size, 3)
    channels = frame_format.stack * frame_format.channels
    return size if channels == 1 and settings.like == "gymnasium" else (channels, *size)


def _id(specs: tuple[GameSpec, ...], settings: Settings) -> str:
    """``Pong-v5``, ``ALE/Pong-v5`` or ``Pong-v5+Breakout-v5``, followed by a colon and the settings that differ."""
    like: Like = "gymnasium" if settings.like == "gymnasium" else "envpool"
    prefix = ALE if like == "gymnasium" else ""
    implied = specs[0].variant is not None and specs[0].variant.implied
    suffix = format_settings(dataclasses.replace(settings, players=1) if implied else settings, like)
    games = "+".join(spec.id if spec.game is None else prefix + spec.id for spec in specs)
    return f"{games}:{suffix}" if suffix else games


def _doc(specs: tuple[GameSpec, ...]) -> str:
    names = [spec.rom.name if spec.game is None else spec.game.id for spec in specs]
    if len(names) == 1:
        return f"{names[0]} of the Atari 2600."
    return f"{len(names)} games of the Atari 2600: {', '.join(names)}."


def _renderer(specs: tuple[GameSpec, ...], rom_bank: RomBank, ram_only: bool) -> Renderer:
    """Renders the newest picture of a console, or with ``ram_only`` the next frame without input."""
    palettes = [colours(spec.television.format) for spec in specs]
    heights = [spec.television.height for spec in specs]

    def draw(sim: Simulation, world: int) -> Bytes:
        game, console = (sim.world_offset + world) % len(specs), sim["Console"]
        if ram_only:
            picture = next_picture(rom_bank, game, console.machine.torch()[world].cpu().numpy())
        else:
            newest = int(console.newest.numpy()[world, 0])
            # Only one world is copied: the pictures of all worlds of a GPU may take many gigabytes.
            picture = console.pictures.torch()[world, 0, newest].cpu().numpy()
        rgb: Bytes = palettes[game][picture[: heights[game]]]
        return rgb

    return draw
