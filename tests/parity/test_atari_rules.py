"""Reward rules against ALE: rewards, lives and ends, in played games and with random memory.

A few games by default; all with ``WORLDLOOM_PARITY`` set. The rules score ALE's own RAM, without the emulator.
"""

from __future__ import annotations

import os
import random
import re

import pytest
from thorough import THOROUGH

pytest.importorskip("ale_py")

from references.ale import cartridge_memory, console, memory

from worldloom.atari.games.game_table import GAMES, find_game
from worldloom.atari.games.multiplayer import MULTIPLAYER_ONLY
from worldloom.atari.games.reward_rules import FILE, RewardRule

ALL = "WORLDLOOM_PARITY" in os.environ
RULED = [game.name for game in GAMES if game.name not in MULTIPLAYER_ONLY]
PLAYED = RULED if ALL else ["asteroids", "breakout", "freeway", "klax", "qbert", "tennis", "tic_tac_toe_3d"]
MADE_UP = RULED if ALL else ["alien", "beam_rider", "casino", "enduro", "miniature_golf", "riverraid"]
FRAMES, TRIES = (3000, 100) if ALL else (400, 25) if THOROUGH else (250, 12)
SAID_BY_THE_MODE = {"casino": {0x54}, "video_checkers": {0x30}}
"""Cells that hold the mode of a game; ALE does not read them."""
NOT_AT_ONCE = {"word_zapper"}
"""Games whose first reward belongs to the frames before the episode."""


def judged(judge: RewardRule, ale) -> tuple[int, int, bool]:
    judge.score_frame(memory(ale), cartridge_memory(ale) if judge.rule.name == "klax" else b"")
    return judge.reward, judge.lives, judge.over


def begin(judge: RewardRule, ale) -> None:
    """An episode of both; the frames before the first one are scored too."""
    ale.reset_game()
    judge.begin()
    for _ in range(2):
        judged(judge, ale)


@pytest.mark.parametrize("name", PLAYED)
def test_play(name):
    game, ale = find_game(name), console(name)
    judge, rng, action, ends = RewardRule(name, game.lives), random.Random(3), 0, 0
    begin(judge, ale)
    assert (judge.lives, judge.over) == (ale.lives(), False)
    for frame in range(FRAMES):
        if frame % 5 == 0:
            action = rng.choice(game.actions if frame < FRAMES // 2 else game.legal)
        reward = ale.act(action)
        assert judged(judge, ale) == (reward, ale.lives(), ale.game_over()), frame
        if ale.game_over():
            ends += 1
            begin(judge, ale)
            assert (judge.lives, judge.over) == (ale.lives(), False)


@pytest.mark.parametrize("name", MADE_UP)
def test_memory_that_was_made_up(name):
    """Random bytes in the cells that a rule reads: mostly its constants, digits, or neighbours of the old value."""
    game, ale, rng = find_game(name), console(name), random.Random(5)
    judge = RewardRule(name, game.lives)
    text = re.search(rf"^{name}\n(.*?)(?=^\w|\Z)", FILE.read_text(), re.MULTILINE | re.DOTALL)[1]
    cells = sorted(
        {int(cell, 16) & 127 for cell in re.findall(r"\$([0-9A-F]{2})\b", text)} - SAID_BY_THE_MODE.get(name, set())
    )
    special = [
        *{int(number, 0) & 255 for number in re.findall(r"(?<![\w$])(?:0x[0-9A-F]+|\d+)\b", text)},
        0,
        1,
        2,
        0x10,
        0x80,
        0x99,
        0xFF,
    ]
    for _ in range(TRIES):
        begin(judge, ale)
        for _ in range(rng.randrange(8)):
            ale.act(rng.choice(game.actions))
            judged(judge, ale)
        for frame in range(3 + 3 * (name in NOT_AT_ONCE)):
            if ale.game_over():
                break
            for cell in cells if frame >= 3 * (name in NOT_AT_ONCE) else ():
                if rng.random() < 0.5:
                    digits = 16 * rng.randrange(10) + rng.randrange(10)
                    ale.setRAM(
                        cell,
                        rng.choice(
                            [
                                rng.choice(special),
                                digits,
                                (memory(ale)[cell] + rng.choice((-1, 1))) & 255,
                                rng.randrange(256),
                            ]
                        ),
                    )
            reward = ale.act(rng.choice(game.actions))
            found = judged(judge, ale)
            assert found == (reward, ale.lives(), ale.game_over()), {
                f"{cell + 128:02X}": memory(ale)[cell] for cell in cells
            }
