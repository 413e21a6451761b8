"""An Atari world: one console per world, its games, and what agents see of them and do in them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from worldloom.atari.emulator.console import EVERY_FRAME, WIDTH, RomBank, next_picture
from worldloom.atari.emulator.machine_state import state_check
from worldloom.atari.env import launches
from worldloom.atari.env.boot import counted_boot_frames
from worldloom.atari.env.episode_rules import GameConstants, WorldParts, build_world_parts
from worldloom.atari.env.game_selection import GameSpec, game_specs, rom_bank_of
from worldloom.atari.env.settings import LIMITS, Like, Settings, format_settings, resolve_settings
from worldloom.atari.env.start_states import starts
from worldloom.atari.frames.observe import MAX_LINES, Bytes, Look
from worldloom.atari.frames.palettes import colours, greys
from worldloom.atari.games.game_table import ALE
from worldloom.core.registry.registry import Definition, PhaseEntry, Renderer
from worldloom.core.simulation import Simulation

WORLDS_PER_THREAD = 4
FRAMES_PER_SECOND = 60
ENVPOOL_LINES = 210
"""EnvPool shows no more lines than these: of taller pictures the upper ones."""


def atari(games: str | Sequence[str], *, like: Like = "envpool", **settings: Any) -> Definition:
    """The definition of an Atari world, for :class:`worldloom.Simulation` and :func:`worldloom.make`.

    Args:
        games: A game as ``ms_pacman`` or ``MsPacman-v5``, or the path of a ROM; or several of them: world k then plays game k modulo
            their number, and all have the 18 actions.
        like: Whose defaults the settings have: EnvPool's, those of ale-py's vector environment, or Gymnasium's.
        settings: As :class:`worldloom.atari.env.settings.Settings` has them.
    """
    chosen = resolve_settings({**settings, "like": like})
    return define(game_specs([games] if isinstance(games, str) else list(games), chosen), chosen)


def define(found: tuple[GameSpec, ...], settings: Settings) -> Definition:
    """The world of these games, with these settings."""
    rom_bank, begins = rom_bank_of(found), starts(found, settings)
    look, heights, palettes = _look(found, settings)
    buttons = np.array([title.choices(settings, len(found) > 1) for title in found], np.int32)
    told = [
        0
        if title.game is None or title.variant is not None
        else counted_boot_frames(title.game, title.mode, title.difficulty)
        for title in found
    ]
    waits = begins.rests + np.repeat(told, begins.count // len(found)).astype(np.int32)
    seen, check = _seen(look, max(heights), settings), state_check(rom_bank.table)
    facts = GameConstants(
        rom_bank.record, rom_bank.height, seen, buttons, begins.fires.astype(np.int32), waits, begins.noops, check
    )
    made = build_world_parts(facts, settings)
    workshop = launches.Workshop(rom_bank, begins, made.console.__name__)
    unseen = settings.obs_type == "ram"  # no picture is logged or drawn, unless somebody looks at a world
    window = 0 if unseen else settings.skips[1] if settings.like == "gymnasium" else 2
    one_life = settings.episodic_life and settings.like == "vector"
    step: list[PhaseEntry] = [
        *made.press,
        launches.Emulate(workshop, made.console, window, one_life),
        *_drawn(workshop, made, settings),
        *made.judge,
    ]
    shows = [
        launches.Show(workshop, made.console, kind, look, heights, palettes)
        for kind in made.players
        if not made.read_memory
    ]
    return Definition(
        _id(found, settings),
        made.world,
        dict.fromkeys((made.console, *made.players), 1),
        reset=tuple(_reset(workshop, made, settings)),
        step=tuple(step),
        observe=(*made.read_memory, *shows),
        max_steps=settings.max_episode_steps,
        doc=_doc(found),
        render=_renderer(found, rom_bank, unseen),
        frames_per_second=max(1, FRAMES_PER_SECOND // settings.skips[1]),
        notice="; ".join(title.rom.notice for title in found if title.rom.notice),
        limits=LIMITS,
        worlds_per_thread=WORLDS_PER_THREAD,
        file=__file__,
    ).checked


def _reset(workshop: launches.Workshop, made: WorldParts, settings: Settings) -> list[PhaseEntry]:
    """How an episode begins: from a kept state, from power-on, or by going on with a game."""
    goes_on = settings.episodic_life and settings.like != "vector"
    entries: list[PhaseEntry] = [
        *made.choose,
        (launches.PowerOn if settings.exact_start else launches.Restore)(workshop, made.console),
    ]
    if settings.exact_start or goes_on:
        window = 0 if settings.obs_type == "ram" else EVERY_FRAME if settings.exact_start else 2
        entries += [launches.Follow(workshop, made.console, window), *_drawn(workshop, made, settings)]
    if goes_on:
        entries += [*made.begin_again, launches.Restore(workshop, made.console)]
    return [*entries, *made.settle_in]


def _drawn(workshop: launches.Workshop, made: WorldParts, settings: Settings) -> list[PhaseEntry]:
    """The drawing of what was emulated, where anybody sees it."""
    return [] if settings.obs_type == "ram" else [launches.Draw(workshop, made.console)]


def _look(found: tuple[GameSpec, ...], settings: Settings) -> tuple[Look, list[int], list[Bytes]]:
    """How pictures are shown, with the lines and the palette of each game."""
    side_by_side = settings.stack_num == 1 and settings.like != "envpool"
    look = Look(
        settings.img_height,
        settings.img_width,
        settings.stack_num,
        "grey" if settings.gray_scale else "pixels" if side_by_side else "planes",
        settings.use_inter_area_resize,
        "zero" if settings.like == "vector" else "repeat",
    )
    most = ENVPOOL_LINES if settings.like == "envpool" else MAX_LINES
    table = greys if settings.gray_scale else colours
    return (
        look,
        [min(title.television.height, most) for title in found],
        [table(title.television.format) for title in found],
    )


def _seen(look: Look, lines: int, settings: Settings) -> tuple[int, ...]:
    """The shape of what an agent sees."""
    size = (look.height or lines, look.width or WIDTH)
    if look.colour == "pixels":
        return (*size, 3)
    return (
        size
        if look.stack == look.channels == 1 and settings.like == "gymnasium"
        else (look.stack * look.channels, *size)
    )


def _id(found: tuple[GameSpec, ...], settings: Settings) -> str:
    """``Pong-v5``, ``ALE/Pong-v5``, ``Pong-v5+Breakout-v5``, each with its unusual settings behind a colon."""
    like: Like = "gymnasium" if settings.like == "gymnasium" else "envpool"
    prefix = ALE if like == "gymnasium" else ""
    implied = found[0].variant is not None and found[0].variant.implied
    more = format_settings(dataclasses.replace(settings, players=1) if implied else settings, like)
    return "+".join(title.id if title.game is None else prefix + title.id for title in found) + (
        f":{more}" if more else ""
    )


def _doc(found: tuple[GameSpec, ...]) -> str:
    names = [title.rom.name if title.game is None else title.game.id for title in found]
    return (
        f"{names[0]} of the Atari 2600."
        if len(names) == 1
        else f"{len(names)} games of the Atari 2600: {', '.join(names)}."
    )


def _renderer(found: tuple[GameSpec, ...], rom_bank: RomBank, unseen: bool) -> Renderer:
    """Shows the last picture of a console as it is on a television; where none is drawn, ``unseen``, the one that comes next if nothing is pressed."""
    palettes, heights = (
        [colours(title.television.format) for title in found],
        [title.television.height for title in found],
    )

    def draw(sim: Simulation, world: int) -> Bytes:
        game, console = (sim.world_offset + world) % len(found), sim["Console"]
        if unseen:
            picture = next_picture(rom_bank, game, console.machine.torch()[world].cpu().numpy())
        else:
            newest = int(console.newest.numpy()[world, 0])
            picture = (
                console.pictures.torch()[world, 0, newest].cpu().numpy()
            )  # of one world: all of a GPU's may be many gigabytes
        shown: Bytes = palettes[game][picture[: heights[game]]]
        return shown

    return draw
