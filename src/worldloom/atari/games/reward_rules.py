"""Reward rules of ``tables/rules.txt``: parsing, and a Python implementation for tests."""

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
"""Rewards of a frame for the other players."""
KEPT = ("score", "reward", "lives", "over", "note0", "note1", "note2", "note3", *OTHERS)
"""Variables of a rule that are kept from frame to frame, or read after it."""


@dataclass(frozen=True)
class Rule:
    """The reward rule of one game.

    Attributes:
        name: The game's name.
        body: Its statements; ``ram[i]`` and ``cart[i]`` are bytes, i from 0 to 127.
        begin: Statements for the start of an episode, when score, over and notes are 0.
    """

    name: str
    body: tuple[ast.stmt, ...]
    begin: tuple[ast.stmt, ...]

    def sets(self, name: str) -> bool:
        """Whether a statement of the rule assigns ``name``."""
        return any(
            isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id == name
            for line in self.body
            for node in ast.walk(line)
        )

    @property
    def keeps_lives(self) -> bool:
        """Whether the last statement assigns ``lives``. Otherwise they become 0 at the end of a game."""
        last = self.body[-1]
        return isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name) and last.targets[0].id == "lives"


@cache
def rules() -> dict[str, Rule]:
    """The rule of every game by name, in alphabetical order."""
    parsed: dict[str, Rule] = {}
    for block in re.split(r"\n(?=\w)", re.sub(r"^#.*\n", "", FILE.read_text(), flags=re.M)):
        name, _, lines = block.strip("\n").partition("\n")
        if name:
            parsed[name] = read_rule(name, lines)
    return dict(sorted(parsed.items()))


def read_rule(name: str, lines: str) -> Rule:
    """Parse the rule in indented ``lines``; lines that start with ``begin`` are for the start of an episode."""
    begin = "\n".join(
        line.strip().removeprefix("begin ") for line in lines.splitlines() if line.strip().startswith("begin ")
    )
    body = "\n".join(line[4:] for line in lines.splitlines() if not line.strip().startswith("begin "))
    try:
        return Rule(name, tuple(ast.parse(_cells(body)).body), tuple(ast.parse(_cells(begin)).body))
    except SyntaxError as error:
        raise InputError(
            f"the rule of '{name}' cannot be read in its line {error.lineno}: {error.msg}; "
            f"write it as the others in {FILE.name}"
        ) from error


def _cells(text: str) -> str:
    """Replace ``$F09D`` by a byte of the cartridge's RAM, ``$C7`` and ``$[cell]`` by one of the console's."""
    text = re.sub(r"\$F0([0-9A-F]{2})", lambda match: f"cart[{int(match[1], 16) & 127}]", text)
    text = re.sub(r"\$([0-9A-F]{2})", lambda match: f"ram[{int(match[1], 16) & 127}]", text)
    return re.sub(r"\$\[([^\]]+)\]", r"ram[(\1) & 127]", text)


def bcd(*pairs: int) -> int:
    """The number in BCD bytes, lowest byte first."""
    return sum(100**index * ((pair >> 4) * 10 + (pair & 15)) for index, pair in enumerate(pairs))


def digit(value: int) -> int:
    """The low four bits as a digit; 10 is a blank."""
    return 0 if value & 15 == 10 else value & 15


def eighth(value: int) -> int:
    """The digit whose bitmap is at 8 times its value; 0x80 is a blank."""
    return 0 if value == 0x80 else value >> 3


def sprite(value: int) -> int:
    """The digit whose bitmap is at exactly 8 times its value; other values are blanks."""
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
    """The rule of a game applied to one console, in Python: the reference for the compiled rule.

    Attributes:
        score: The game's score.
        reward: Reward of the last frame.
        lives: Lives left, as the game shows them.
        over: Whether the episode has ended.
    """

    def __init__(self, name: str, lives: int) -> None:
        if name not in rules():
            raise InputError(f"there is no game '{name}'; the names are those of the table of games, as 'ms_pacman'")
        self.rule, self._first_lives = rules()[name], lives
        self.begin()

    def begin(self) -> None:
        """Start an episode."""
        self._variables = dict.fromkeys(KEPT, 0) | {"lives": self._first_lives}
        self._run(self.rule.begin, b"", b"")

    def score_frame(self, ram: bytes, cart: bytes = b"") -> None:
        """Score a frame from the console's 128 bytes of RAM and the cartridge's."""
        before = self._variables["score"]
        if not self.rule.sets("lives"):
            self._variables["lives"] = self._first_lives
        self._run(self.rule.body, ram, cart)
        if not self.rule.sets("reward"):
            self._variables["reward"] = self._variables["score"] - before
        if self.over and not self.rule.keeps_lives:
            self._variables["lives"] = 0

    def _run(self, lines: tuple[ast.stmt, ...], ram: bytes, cart: bytes) -> None:
        names: dict[str, int] = dict(self._variables)
        exec(_code(lines), {**WORDS, "ram": ram, "cart": cart}, names)  # noqa: S102 (the package's own table)
        self._variables = {name: int(names[name]) for name in KEPT}

    @property
    def score(self) -> int:
        return self._variables["score"]

    @property
    def reward(self) -> int:
        return self._variables["reward"]

    @property
    def rewards(self) -> tuple[int, int, int, int]:
        """Rewards of the last frame for four players; by default the game is zero-sum between the first two."""
        second = self._variables["second"] if self.rule.sets("second") else -self.reward
        return self.reward, second, self._variables["third"], self._variables["fourth"]

    @property
    def lives(self) -> int:
        return self._variables["lives"]

    @property
    def over(self) -> bool:
        return self._variables["over"] != 0

    def state(self) -> dict[str, int]:
        """The variables that are kept from frame to frame."""
        return dict(self._variables)

    def restore(self, state: dict[str, int]) -> None:
        self._variables = dict(state)
