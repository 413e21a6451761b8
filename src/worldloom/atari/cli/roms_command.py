"""``worldloom roms``: the ROMs on the search path and their games."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import tyro
from rich import box
from rich.markup import escape
from rich.table import Table

from worldloom.atari.cartridges import roms
from worldloom.atari.games.game_table import GAMES
from worldloom.core.base.errors import InputError
from worldloom.core.base.paths import printable_path
from worldloom.terminal import console
from worldloom.terminal.flags import Json

UNKNOWN = "not known"


@dataclass
class Roms:
    """List Atari 2600 ROMs: the game, the cartridge and the television standard of each, or why it cannot be used.

    Without PATH: the ROMs in the folder ALE_ROMS_DIR and in the installed package ale-py, the search path of worlds.
    Worldloom contains no ROMs.
    """

    path: Annotated[tyro.conf.Positional[str], tyro.conf.arg(metavar="[PATH]")] = ""
    """A ROM file, or a folder with ROM files."""
    json: Json = False
    """Print JSON."""

    def run(self) -> int:
        files = roms.scan(self.path or None)
        if not files:
            where = [printable_path(path) for path in ([self.path] if self.path else roms.folders())]
            raise InputError(f"no ROM was found{' in ' if where else ''}{' or '.join(where)}: {roms.HOW_TO_GET}")
        if self.json:
            console.print_json([_rom_report(file) for file in files])
            return 0
        for folder in dict.fromkeys(file.source.parent for file in files):
            console.out().print(printable_path(folder), soft_wrap=True, markup=False)
            console.out().print(_table([file for file in files if file.source.parent == folder]))
        console.out().print(_summary(files), soft_wrap=True)
        return 0


def roms_status() -> str:
    """The number of games with a ROM and its folders; or what is wrong, and how to get ROMs."""
    try:
        known = [rom for rom in roms.available() if rom.game is not None]
    except InputError as error:
        return str(error)
    if not known:
        return f"none was found: {roms.HOW_TO_GET}"
    where = dict.fromkeys(printable_path(rom.source.parent) for rom in known)
    return f"{len(known)} of {len(GAMES)} ROMs, in {' and '.join(where)}"


def _rom_report(file: roms.RomFile) -> dict[str, Any]:
    """The report of one file; unknown values are None."""
    rom = file.rom
    game = rom.game if rom else None
    return {
        "file": str(file.source),
        "game": game.name if game else None,
        "env": f"{game.id}-v5" if game else None,
        "md5": rom.md5 if rom else None,
        "bytes": len(rom.image) if rom else None,
        "cartridge": rom.kind.label if rom else None,
        "television": game.television if game else None,
        "problem": file.problem or None,
    }


def _table(files: list[roms.RomFile]) -> Table:
    """The valid ROMs among ``files``."""
    table = Table(box=box.SIMPLE_HEAD)
    for heading in ("file", "game", "MD5", "cartridge", "television"):
        table.add_column(heading, overflow="fold")
    for file in files:
        report = _rom_report(file)
        if file.rom is not None:
            md5 = f"{file.rom.md5[:12]}…"  # abbreviated; the JSON has all of it
            table.add_row(
                escape(printable_path(file.source.name)),
                report["game"] or UNKNOWN,
                md5,
                report["cartridge"],
                report["television"] or UNKNOWN,
            )
    return table


def _summary(files: list[roms.RomFile]) -> str:
    """The problem of each invalid file, and the number of valid ones."""
    known = sum(file.rom is not None and file.rom.game is not None for file in files)
    unknown = sum(file.rom is not None and file.rom.game is None for file in files)
    lines = [escape(file.problem) for file in files if file.problem]
    verb = "is" if unknown == 1 else "are"
    others = f", and {unknown} that {verb} not known and can be played without rules" if unknown else ""
    return "\n".join([*lines, f"{known} ROM{'' if known == 1 else 's'} of known games{others}."])
