"""The rules of the games as they stand in ``tables/rules.txt``: read, checked, and turned into Python for tests."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import CodeType

from worldloom.core.base.errors import InputError

FILE = Path(__file__).parent / "tables" / "rules.txt"
OTHERS = ("second", "third", "fourth")
"""What a frame is worth to the other players."""
KEPT = ("score", "reward", "lives", "over", "note0", "note1", "note2", "note3", *OTHERS)
"""What outlives a frame; what it is worth does not have to."""


@dataclass(frozen=True)
class Rule:
    """The rule of one game.

    Attributes:
        name: The game's name.
        body: Its lines; ``ram[i]`` and ``cart[i]`` are bytes, i from 0 to 127.
        begin: Lines for the start of an episode, before which score, over and notes are 0.
    """

    name: str
    body: tuple[ast.stmt, ...]
    begin: tuple[ast.stmt, ...]

    def sets(self, name: str) -> bool:
        """Whether a line of the rule sets ``name``."""
        return any(
            isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name
            for line in self.body
            for node in ast.walk(line)
        )

    @property
    def keeps_lives(self) -> bool:
        """Whether the last line sets ``lives``, which then stand at the end too; elsewhere the end leaves none."""
        last = self.body[-1]
        return isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name) and last.targets[0].id == "lives"


@cache
def rules() -> dict[str, Rule]:
    """The rule of every game by its name, in the order of the names."""
    found: dict[str, Rule] = {}
    for block in re.split(r"\n(?=\w)", re.sub(r"^#.*\n", "", FILE.read_text(), flags=re.M)):
        name, _, lines = block.strip("\n").partition("\n")
        if name:
            found[name] = read_rule(name, lines)
    return dict(sorted(found.items()))


def read_rule(name: str, lines: str) -> Rule:
    """The rule in indented ``lines``, as in the file of rules; lines that open with ``begin`` are for the start."""
    begin = "\n".join(
        line.strip().removeprefix("begin ") for line in lines.splitlines() if line.strip().startswith("begin ")
    )
    body = "\n".join(line[4:] for line in lines.splitlines() if not line.strip().startswith("begin "))
    try:
        return Rule(name, tuple(ast.parse(_cells(body)).body), tuple(ast.parse(_cells(begin)).body))
    except SyntaxError as error:
        raise InputError(
            f"the rule of '{name}' cannot be read in its line {error.lineno}: {error.msg}; write it as the others in {FILE.name}"
        ) from error


def _cells(text: str) -> str:
    """``$F09D`` is a byte of the cartridge's RAM, ``$C7`` and ``$[cell]`` one of the console's."""
    text = re.sub(r"\$F0([0-9A-F]{2})", lambda found: f"cart[{int(found[1], 16) & 127}]", text)
    text = re.sub(r"\$([0-9A-F]{2})", lambda found: f"ram[{int(found[1], 16) & 127}]", text)
    return re.sub(r"\$\[([^\]]+)\]", r"ram[(\1) & 127]", text)


def bcd(*pairs: int) -> int:
    """The number in bytes of two decimal digits each, the lowest byte first."""
    return sum(100**place * ((pair >> 4) * 10 + (pair & 15)) for place, pair in enumerate(pairs))


def digit(value: int) -> int:
    """The low four bits as a digit, where 10 is a blank."""
    return 0 if value & 15 == 10 else value & 15


def eighth(value: int) -> int:
    """The digit whose picture stands at 8 times its value; 0x80 is the blank."""
    return 0 if value == 0x80 else value >> 3


def sprite(value: int) -> int:
    """The digit whose picture stands at exactly 8 times its value; all else is a blank."""
    return value >> 3 if value & 7 == 0 and value < 80 else 0


def signed(value: int) -> int:
    """A byte as a number from -128 to 127."""
    return value - 256 if value > 127 else value


WORDS = {
    "bcd": bcd,
    "digit": digit,
    "eighth": eighth,
    "sprite": sprite,
    "signed": signed,
    "min": min,
    "max": max,
    "int": int,
    "range": range,
}


@cache
def _code(lines: tuple[ast.stmt, ...]) -> CodeType:
    return compile(ast.fix_missing_locations(ast.Module(list(lines), [])), FILE.name, "exec")


class RewardRule:
    """A game's rule over one console, in Python: what the compiled rule must say too.

    Attributes:
        score: The game's own count.
        reward: Of the last frame.
        lives: Left, as the game shows them.
        over: Whether the episode has ended.
    """

    def __init__(self, name: str, lives: int) -> None:
        if name not in rules():
            raise InputError(f"there is no game '{name}'; the names are those of the table of games, as 'ms_pacman'")
        self.rule, self._first_lives = rules()[name], lives
        self.begin()

    def begin(self) -> None:
        """The start of an episode."""
        self._kept = dict.fromkeys(KEPT, 0) | {"lives": self._first_lives}
        self._run(self.rule.begin, b"", b"")

    def frame(self, ram: bytes, cart: bytes = b"") -> None:
        """Judges a frame by the console's 128 bytes, and the cartridge's where it has RAM."""
        before = self._kept["score"]
        if not self.rule.sets("lives"):
            self._kept["lives"] = self._first_lives
        self._run(self.rule.body, ram, cart)
        if not self.rule.sets("reward"):
            self._kept["reward"] = self._kept["score"] - before
        if self.over and not self.rule.keeps_lives:
            self._kept["lives"] = 0

    def _run(self, lines: tuple[ast.stmt, ...], ram: bytes, cart: bytes) -> None:
        names: dict[str, int] = dict(self._kept)
        exec(_code(lines), {**WORDS, "ram": ram, "cart": cart}, names)
        self._kept = {name: int(names[name]) for name in KEPT}

    @property
    def score(self) -> int:
        return self._kept["score"]

    @property
    def reward(self) -> int:
        return self._kept["reward"]

    @property
    def rewards(self) -> tuple[int, int, int, int]:
        """Of the last frame, for each of four players; where the rule is silent the second loses what the first wins."""
        second = self._kept["second"] if self.rule.sets("second") else -self.reward
        return self.reward, second, self._kept["third"], self._kept["fourth"]

    @property
    def lives(self) -> int:
        return self._kept["lives"]

    @property
    def over(self) -> bool:
        return self._kept["over"] != 0

    def state(self) -> dict[str, int]:
        """What is kept from frame to frame."""
        return dict(self._kept)

    def restore(self, state: dict[str, int]) -> None:
        self._kept = dict(state)
