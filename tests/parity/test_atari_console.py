"""Games equal ALE, frame by frame; ``make parity-atari`` compares all of them for longer."""

from __future__ import annotations

import os

import pytest
from references.lockstep import Lockstep
from thorough import THOROUGH, only_thorough

from worldloom.atari.cartridges.cartridge import CartridgeKind
from worldloom.atari.games.game_table import find_game

pytest.importorskip("ale_py", reason="ale-py is not installed")

FRAMES = int(os.environ.get("WORLDLOOM_PARITY", "150" if THOROUGH else "90"))
GAMES = (
    "pong",  # 2K, paddles on both sides, exchanged
    "surround",  # 2K, ports exchanged
    "breakout",  # 2K, paddles
    "adventure",  # 4K, PAL
    "space_invaders",  # 4K, collisions in the midst of a frame
    "skiing",  # 4K, no button
    "video_checkers",  # 4K, long frames
    "ms_pacman",  # F8, no blanks at the left
    "elevator_action",  # F8SC
    "solaris",  # F6
    "klax",  # F6SC, PAL, points in the cartridge's RAM
    "montezuma_revenge",  # E0
    "robotank",  # FE
    "pitfall2",  # DPC
)
VARIED = ("asteroids", "berzerk", "double_dunk", "et", "gopher", "tic_tac_toe_3d", "video_cube")
"""Games with different kinds of mode selection."""


def test_these_games_have_all_cartridges_that_games_have() -> None:
    assert {find_game(name).cartridge for name in GAMES} == {
        kind.label
        for kind in CartridgeKind
        if kind
        not in (
            CartridgeKind.F4,
            CartridgeKind.F4SC,
            CartridgeKind.E7,
            CartridgeKind.K3F,
            CartridgeKind.FA,
            CartridgeKind.CV,
            CartridgeKind.UA,
        )
    }


def test_every_frame_is_ales() -> None:
    """RAM, picture, reward, lives and end."""
    findings = Lockstep(GAMES, FRAMES // 3).run(FRAMES)
    assert {finding.game: finding.differs for finding in findings if finding.differs} == {}
    assert all(finding.frames == FRAMES and finding.episodes > 3 for finding in findings)


@only_thorough  # hundreds of frames of ALE for every mode
def test_modes_and_difficulties_are_ales() -> None:
    findings = Lockstep(VARIED, FRAMES // 10, variants=True).run(FRAMES // 2)
    assert {finding.game: finding.differs for finding in findings if finding.differs} == {}
    assert all(finding.episodes >= 5 for finding in findings)
