"""ROM files: search path, validation and identification.

A file is identified by the MD5 of its bytes, not by its name. It is untrusted input: every reason to reject one is an
error message, and no more bytes are read than a cartridge can hold.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from worldloom.atari.cartridges.cartridge import CartridgeKind, detect_kind
from worldloom.atari.games.game_table import Game, find_game, game_of_rom
from worldloom.core.base.errors import InputError
from worldloom.core.base.paths import expand_home, printable_path

VARIABLE = "ALE_ROMS_DIR"
"""The environment variable that names a folder of ROMs."""
PACKAGE = "ale_py"
"""The package that contains ROMs. It is located but never imported."""
SUFFIXES = (".bin", ".a26", ".rom")
"""Suffixes of ROM files."""
HOW_TO_GET = f"pip install 'worldloom[atari]' installs the ROMs of all games, and {VARIABLE} names a folder of your own"

_MAX_FILE_BYTES = 512 * 1024
_PACKED = {
    b"PK\x03\x04": "ZIP",
    b"PK\x05\x06": "ZIP",
    b"\x1f\x8b\x08": "gzip",
    b"7z\xbc\xaf\x27\x1c": "7z",
    b"Rar!\x1a": "RAR",
    b"BZh": "bzip2",
    b"\xfd7zXZ": "xz",
}
_PACKED_SUFFIXES = (".zip", ".gz", ".7z", ".rar", ".bz2", ".xz")
_WORLD_FILE = re.compile(r"\.py(:|$)")
"""The name of a world by the file that registers it, which is no ROM."""


@dataclass(frozen=True)
class Rom:
    """A valid ROM.

    Attributes:
        name: Name of the game, such as ``ms_pacman``; the stem of the file for an unknown ROM.
        image: The bytes.
        md5: MD5 of the bytes, 32 hexadecimal digits.
        source: The file.
    """

    name: str
    image: bytes = field(repr=False)
    md5: str
    source: Path

    @property
    def game(self) -> Game | None:
        """The game; None for an unknown ROM."""
        return game_of_rom(self.md5)

    @property
    def kind(self) -> CartridgeKind:
        """The cartridge kind."""
        return detect_kind(self.image)

    @property
    def notice(self) -> str:
        """A notice for the user; empty for a known game."""
        if self.game is not None:
            return ""
        unknown = (
            f"{printable_path(self.source)} is no ROM that is known here (its MD5 is {self.md5}), or it is damaged"
        )
        return f"{unknown}, so it has no rules: no rewards, no lives, and no end of an episode"


@dataclass(frozen=True)
class RomFile:
    """A file with the name of a ROM: the ROM, or the reason why it cannot be used."""

    source: Path
    rom: Rom | None
    problem: str


def find(name: str | Path) -> Rom:
    """Find the ROM of a game, or read it from a file.

    Args:
        name: Name or id of a game, such as ``ms_pacman`` or ``MsPacman-v5``, which is searched in the folder
            ``ALE_ROMS_DIR`` and then in the installed ale-py; or the path of a file.

    Raises:
        InputError: If there is no such ROM, or it cannot be used.
    """
    if is_path(name):
        return read(name)
    game = find_game(str(name))
    searched = folders()
    namesake = None
    for folder in searched:
        for file in _likely_first(folder, game.name):
            try:
                rom = read(file)
            except InputError as error:
                namesake = namesake or (str(error) if file.stem == game.name else None)
                continue
            if rom.md5 == game.md5:
                return rom
            if file.stem == game.name:
                namesake = namesake or (
                    f"{printable_path(file)} is another program (its MD5 is {rom.md5}), "
                    "and can only be played without rules, by its path"
                )
    where = " or ".join(map(printable_path, searched))
    absent = (
        f"there is no ROM of {game.name}, with the MD5 {game.md5}, in {where}"
        if searched
        else f"there is no ROM of {game.name}"
    )
    raise InputError(f"{absent}: {f'{namesake}; ' if namesake else ''}{HOW_TO_GET}")


def available() -> list[Rom]:
    """Every valid ROM of the search path, each once, known games first, sorted by name."""
    roms: dict[str, Rom] = {}
    for file in scan():
        if file.rom is not None:
            roms.setdefault(file.rom.md5, file.rom)
    return sorted(roms.values(), key=lambda rom: (rom.game is None, rom.name))


def scan(path: str | Path | None = None) -> list[RomFile]:
    """Every file with the suffix of a ROM or an archive at ``path``, a file or a folder; by default in the search path.

    Raises:
        InputError: If ``path`` is neither.
    """
    if path is None:
        searched = folders()
    else:
        target = expand_home(path)
        if not os.path.isdir(target):
            return [RomFile(target, read(target), "")]
        searched = [target]
    return [_rom_file(file) for folder in searched for file in _files(folder, (*SUFFIXES, *_PACKED_SUFFIXES))]


def folders() -> list[Path]:
    """The search path of ROMs, in order.

    Raises:
        InputError: If the environment variable names no folder.
    """
    chosen = os.environ.get(VARIABLE, "")
    own = [expand_home(chosen)] if chosen else []
    if own and not os.path.isdir(own[0]):
        raise InputError(
            f"{VARIABLE} names {printable_path(chosen)}, which is no folder: "
            "name the folder that holds your ROMs, or unset the variable"
        )
    try:
        package = importlib.util.find_spec(PACKAGE)
    except ValueError:  # a module of that name without a specification
        package = None
    bundled = [Path(location) / "roms" for location in (package.submodule_search_locations or [] if package else [])]
    return own + [folder for folder in bundled if os.path.isdir(folder)]


def is_path(name: str | Path) -> bool:
    """Whether ``name`` is the path of a ROM rather than a game: by its suffix, its prefix, or because the file exists.

    Ids of other worlds may contain a separator too.
    """
    if isinstance(name, Path):
        return True
    if _WORLD_FILE.search(name) is not None:
        return False
    if name.lower().endswith((*SUFFIXES, *_PACKED_SUFFIXES)) or name.startswith(("~", ".", os.sep)):
        return True
    return any(separator in name for separator in ("/", os.sep)) and os.path.isfile(name)


def read(path: str | Path) -> Rom:
    """Read a ROM from a file.

    Raises:
        InputError: If the file cannot be read, or holds no ROM of a supported cartridge.
    """
    source = expand_home(path)
    image = _read_checked(source)
    md5 = hashlib.md5(image, usedforsecurity=False).hexdigest()
    game = game_of_rom(md5)
    if game is None:
        _check_image(image, source)
    return Rom(source.stem if game is None else game.name, image, md5, source)


def _read_checked(source: Path) -> bytes:
    """The bytes of a file of a valid size."""
    name = printable_path(source)
    try:
        status = source.stat()
        if stat.S_ISDIR(status.st_mode):
            raise InputError(f"{name} is a folder: name a ROM file in it; `worldloom roms {name}` lists them")
        if not stat.S_ISREG(status.st_mode):  # a pipe may block, and a device may never end
            raise InputError(f"{name} is no regular file: name a ROM file, such as pong.bin")
        with source.open("rb") as file:
            image = file.read(_MAX_FILE_BYTES + 1)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(
            f"there is no file {name}: check the path; `worldloom roms` lists the ROMs that are found"
        ) from None
    except PermissionError:
        raise InputError(f"{name} may not be read by this user: change its permissions") from None
    except (OSError, ValueError) as error:  # ValueError: a path that no system can hold
        raise InputError(
            f"{name} cannot be read: {getattr(error, 'strerror', None) or error}; check the path"
        ) from None
    if not image:
        raise InputError(f"{name} is empty: download it again")
    if len(image) > _MAX_FILE_BYTES:
        raise InputError(
            f"{name} is larger than any cartridge, more than {_MAX_FILE_BYTES // 1024} KiB: name the ROM file itself"
        )
    return image


def _check_image(image: bytes, source: Path) -> None:
    """InputError if the bytes of an unknown file cannot be a program for the console."""
    name = printable_path(source)
    packed = next((archive for magic, archive in _PACKED.items() if image.startswith(magic)), None)
    if packed is not None:
        raise InputError(
            f"{name} is a {packed} archive, which worldloom does not open: unpack it, and name the ROM file in it"
        )
    if _is_text(image):
        what = "a web page" if b"<html" in image[:4096].lower() or b"<!doctype" in image[:4096].lower() else "text"
        raise InputError(f"{name} is {what} and no ROM: the download went wrong, so download it again")
    if image.count(image[0]) == len(image):
        raise InputError(
            f"{name} holds the same byte {len(image):,} times and no program: it is damaged, so download it again"
        )
    try:
        detect_kind(image)
    except InputError as error:
        raise InputError(f"{name} cannot be used: {error}") from None


def _is_text(image: bytes) -> bool:
    """Whether the bytes are text: they decode, and hold no control characters except whitespace."""
    try:
        return image.decode("utf-8-sig").translate(dict.fromkeys(map(ord, "\t\n\r\f"))).isprintable()
    except UnicodeDecodeError:
        return False


def _rom_file(file: Path) -> RomFile:
    try:
        return RomFile(file, read(file), "")
    except InputError as error:
        return RomFile(file, None, str(error))


def _likely_first(folder: Path, name: str) -> Iterator[Path]:
    """The ROM files of a folder, those called ``name`` first."""
    yield from sorted(_files(folder, SUFFIXES), key=lambda file: (file.stem != name, file))


def _files(folder: Path, suffixes: tuple[str, ...]) -> list[Path]:
    try:
        return sorted(file for file in folder.iterdir() if file.name.lower().endswith(suffixes))
    except OSError as error:
        raise InputError(
            f"the folder {printable_path(folder)} cannot be listed: {error.strerror}; "
            "change its permissions, or name another"
        ) from None
