"""The games of the Atari 2600 that have rules: what identifies each, its actions, modes and difficulties, and how an episode starts."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from worldloom.core.base.errors import InputError

TABLE = Path(__file__).parent / "tables" / "games.txt"
RESET = 40  # a starting action that presses the console's RESET switch, not the stick
ALL_ACTIONS = tuple(range(18))


@dataclass(frozen=True)
class Game:
    """One game.

    Attributes:
        name: The name of its ROM, such as ``ms_pacman``.
        id: The name of its environment without the version, such as ``MsPacman``.
        md5: Of the ROM, 32 hexadecimal digits.
        cartridge: The kind of cartridge, such as ``F8``.
        lives: At the start of an episode, as the rules count them.
        actions: The minimal actions, by their numbers.
        legal: All actions that the game takes; others count as no action.
        modes: The numbers of its modes; the first is the one at the start.
        difficulties: The numbers of its difficulties: bit 0 is the left switch at A, bit 1 the right one; the first is the one at the start.
        start: The actions of the first frames of an episode, one frame each, after the console was reset; ``RESET`` presses that switch.
        television: ``NTSC`` or ``PAL``.
        top: The first line that is shown.
        height: The number of lines that are shown.
        paddles: Whether the game is played with paddles.
        swapped_paddles: Whether the paddles of a port are exchanged.
        swapped_ports: Whether the ports are exchanged: the first player holds the right stick.
        blanks: Whether a move at the start of a line blanks its first eight pixels.
        paddle_limit: The largest resistance of a paddle.
        memory: Cells of the RAM, 0 to 127, that the game does not clear, and what ALE's console holds in them when its first episode begins.
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
        """Its place among the games by name, which the compiled rules go by."""
        return NUMBERS[self.name]


def read_table(path: Path) -> list[list[str]]:
    """The rows of a table of text, whose first line names the columns."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return [[cell.strip() for cell in line.split("|")] for line in lines[1:]]


def read_numbers(text: str) -> tuple[int, ...]:
    """``0-2,5`` is 0, 1, 2, 5; ``0*3,1`` is 0, 0, 0, 1; ``0-2+100*0-5`` is 0, 1, 2, 100, 101, 102, ... 502; ``-`` is none."""
    if text == "-":
        return ()
    ones, _, hundreds = text.partition("+100*")
    if hundreds:
        return tuple(100 * hundred + one for hundred in read_numbers(hundreds) for one in read_numbers(ones))
    found: list[int] = []
    for part in text.split(","):
        span, _, times = part.partition("*")
        ends = [int(end) for end in span.split("-")]
        found += [*range(ends[0], ends[-1] + 1)] * int(times or 1)
    return tuple(found)


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
"""How Gymnasium's ids of games begin, and how all end."""


def base_name(name: str) -> str:
    """The name of a game without what ids have around it: ``MsPacman`` of ``ALE/MsPacman-v5``."""
    return name.removeprefix(ALE).removesuffix(VERSION)


def find_game(name: str) -> Game:
    """The game of that name or id: ``ms_pacman``, ``MsPacman``, ``MsPacman-v5`` or ``ALE/MsPacman-v5``."""
    key = base_name(name)
    if key in NUMBERS:
        return GAMES[NUMBERS[key]]
    if key.lower() in _IDS:
        return _IDS[key.lower()]
    raise InputError(f"there is no game '{name}'; name one as 'ms_pacman' or 'MsPacman-v5'")


def game_of_rom(md5: str) -> Game | None:
    """The game with that ROM, or None for a ROM that is not in the table."""
    return _MD5S.get(md5)
