"""Television standards of games and of unknown ROMs."""

import numpy as np
import pytest

import worldloom as wl
from worldloom.atari.frames.palettes import colours
from worldloom.atari.frames.television import Format, Television, detect, television_of
from worldloom.atari.games.game_table import GAMES, find_game


def test_games_say_what_is_shown():
    assert television_of(find_game("pong")) == Television(Format.NTSC, 34, 210)
    assert television_of(find_game("adventure")) == Television(Format.PAL, 34, 250)
    assert television_of(find_game("carnival")) == Television(Format.NTSC, 26, 214)
    assert {television_of(game).format for game in GAMES} == {Format.NTSC, Format.PAL}


@pytest.mark.parametrize(
    ("lines", "standard"),
    [
        ([262] * 60, Format.NTSC),
        ([312] * 60, Format.PAL),
        ([285] * 60, Format.NTSC),
        ([286] * 60, Format.PAL),
        ([312] * 30 + [262] * 30, Format.NTSC),
        ([262] * 46 + [312] * 14, Format.NTSC),
        ([262] * 45 + [312] * 15, Format.PAL),
        ([262] * 60 + [312] * 60, Format.NTSC),
        ([], Format.NTSC),
    ],
)
def test_long_frames_mean_pal(lines, standard):
    assert detect(lines) is standard
    assert television_of(None, lines) == Television(standard, 34, standard.height)


def test_a_standard_can_be_chosen():
    assert television_of(find_game("pong"), chosen=Format.SECAM) == Television(Format.SECAM, 34, 210)
    assert television_of(None, [262] * 60, Format.SECAM) == Television(Format.SECAM, 34, 250)


def test_a_world_on_secam_has_its_eight_colours():
    pytest.importorskip("ale_py")
    env = wl.make("ALE/Pong-v5", 1, device="python", television="SECAM", seed=0)
    assert env.simulation.definition.id == "ALE/Pong-v5:television=secam"
    env.reset()
    seen = {tuple(pixel) for pixel in env.step(np.zeros(1, np.int64))[0][0].reshape(-1, 3).tolist()}
    assert len(seen) > 2 and seen <= {tuple(colour) for colour in colours(Format.SECAM).tolist()}
    with pytest.raises(wl.InputError, match="give one of auto, ntsc, pal, secam"):
        wl.make("Pong-v5", 1, television="hd")
