"""The table of known games: ids, ROM digests, actions, modes, difficulties and start of an episode."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from worldloom.core.base.errors import InputError

TABLE = Path(__file__).parent / "tables" / "games.txt"
RESET = 40  # a start action that presses the console's RESET switch
ALL_ACTIONS = tuple(range(18))


@dataclass(frozen=True)
class Game:
    """One game.

    Attributes:
        name: Name of its ROM, such as ``ms_pacman``.
        id: Name of its environment without the version, such as ``MsPacman``.
        md5: MD5 of the ROM, 32 hexadecimal digits.
        cartridge: Cartridge kind, such as ``F8``.
        lives: Lives at the start of an episode, as the reward rule counts them.
        actions: The minimal action set.
        legal: All actions that the game accepts; others are no-ops.
        modes: Numbers of its modes; the first one is the default.
        difficulties: Numbers of its difficulties: bit 0 is the left switch at A, bit 1 the right one. The first one is
            the default.
        start: Actions of the first frames of an episode after the console's reset; ``RESET`` presses that switch.
        television: ``NTSC`` or ``PAL``.
        top: First visible scanline.
        height: Number of visible scanlines.
        paddles: Whether the game uses paddles.
        swapped_paddles: Whether the paddles of a port are swapped.
        swapped_ports: Whether the ports are swapped: the first player uses the right joystick.
        blanks: Whether HMOVE blanks the first eight pixels of a scanline.
        paddle_limit: Maximum resistance of a paddle.
        memory: Cells of the RAM, 0 to 127, that the game does not clear, and their values at the start of ALE's first
            episode.
    """

    name: str
    id: str
    md5: str
    cartridge: str
    lives: int
    actions: tuple[int, ...]
    legal: tuple[int, ...]
    modes: tuple[int, ...]
    difficulties: tuple[int, ...]
    start: tuple[int, ...]
    television: str
    top: int
    height: int
    paddles: bool
    swapped_paddles: bool
    swapped_ports: bool
    blanks: bool
    paddle_limit: int
    memory: tuple[tuple[int, int], ...]

    @property
    def number(self) -> int:
        """Its index among the games by name, which the compiled rules use."""
        return NUMBERS[self.name]


def read_table(path: Path) -> list[list[str]]:
    """The rows of a text table, whose first line names the columns."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [[cell.strip() for cell in line.split("|")] for line in lines[1:]]


def read_numbers(text: str) -> tuple[int, ...]:
    """Parse ``0-2,5`` as 0, 1, 2, 5; ``0*3,1`` as 0, 0, 0, 1; ``0-2+100*0-1`` as 0-2, 100-102; ``-`` as none."""
    if text == "-":
        return ()
    ones, _, hundreds = text.partition("+100*")
    if hundreds:
        return tuple(100 * hundred + one for hundred in read_numbers(hundreds) for one in read_numbers(ones))
    numbers: list[int] = []
    for part in text.split(","):
        span, _, times = part.partition("*")
        ends = [int(end) for end in span.split("-")]
        numbers += [*range(ends[0], ends[-1] + 1)] * int(times or 1)
    return tuple(numbers)


def _read() -> tuple[Game, ...]:
    return tuple(sorted((_game(cells) for cells in read_table(TABLE)), key=lambda game: game.name))


def _game(cells: list[str]) -> Game:
    name, id_, md5, cartridge, lives, actions, modes, difficulties, start, console = cells
    words = dict(word.partition("=")[::2] for word in console.split())
    pal = "PAL" in words
    return Game(
        name=name,
        id=id_,
        md5=md5,
        cartridge=cartridge,
        lives=int(lives),
        actions=read_numbers(actions),
        legal=(0, *range(2, 10)) if "no_fire" in words else ALL_ACTIONS,
        modes=read_numbers(modes),
        difficulties=read_numbers(difficulties),
        start=read_numbers(start.replace("RESET", str(RESET))),
        television="PAL" if pal else "NTSC",
        top=int(words.get("top", 34)),
        height=int(words.get("height", 250 if pal else 210)),
        paddles="paddles" in words,
        swapped_paddles="swap_paddles" in words,
        swapped_ports="swap_ports" in words,
        blanks="no_blanks" not in words,
        paddle_limit=int(words.get("paddle_limit", 790_196)),
        memory=tuple(
            (int(cell[:2], 16) & 127, int(cell[3:], 16)) for cell in words.get("memory", "").split(",") if cell
        ),
    )


GAMES: tuple[Game, ...] = _read()
NUMBERS: dict[str, int] = {game.name: number for number, game in enumerate(GAMES)}
_IDS = {game.id.lower(): game for game in GAMES}
_MD5S = {game.md5: game for game in GAMES}


ALE, VERSION = "ALE/", "-v5"
"""Prefix of Gymnasium's ids, and suffix of all ids."""


def base_name(name: str) -> str:
    """The name of a game without prefix and version: ``MsPacman`` of ``ALE/MsPacman-v5``."""
    return name.removeprefix(ALE).removesuffix(VERSION)


def find_game(name: str) -> Game:
    """The game with a name or id: ``ms_pacman``, ``MsPacman``, ``MsPacman-v5`` or ``ALE/MsPacman-v5``."""
    key = base_name(name)
    if key in NUMBERS:
        return GAMES[NUMBERS[key]]
    if key.lower() in _IDS:
        return _IDS[key.lower()]
    raise InputError(f"there is no game '{name}'; name one as 'ms_pacman' or 'MsPacman-v5'")


def game_of_rom(md5: str) -> Game | None:
    """The game with that ROM, or None for an unknown ROM."""
    return _MD5S.get(md5)
