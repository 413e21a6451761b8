"""Palettes and the detection of the television standard equal ALE's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from references.colour_bars import SHORTEST, colour_bars
from thorough import sample

from worldloom.atari.cartridges import roms
from worldloom.atari.frames.palettes import colours, greys
from worldloom.atari.frames.television import Format, detect, television_of

ale_py = pytest.importorskip("ale_py", reason="ale-py is not installed")

PAL_ADDED = 312 - SHORTEST
CUT = 291
"""Scanline at which ALE ends a frame of an NTSC console."""
PHOSPHOR = ("air_raid", "asteroids", "jamesbond", "tetris", "yars_revenge")
"""Games with phosphor blending in ALE."""


@pytest.fixture
def load(tmp_path: Path) -> Callable[[bytes], Any]:
    """Load an unknown ROM into ALE under the name of a game without modes."""

    def load_image(image: bytes) -> Any:
        file = tmp_path / "tetris.bin"
        file.write_bytes(image)
        return load_file(file)

    return load_image


def load_file(file: Path) -> Any:
    ale_py.ALEInterface.setLoggerMode(ale_py.LoggerMode.Error)
    ale = ale_py.ALEInterface()
    ale.setFloat("repeat_action_probability", 0.0)
    ale.loadROM(file)
    return ale


def assert_colours_are_equal(ale: Any, television: Format) -> None:
    screen = ale.getScreen()
    np.testing.assert_array_equal(colours(television)[screen], ale.getScreenRGB())
    np.testing.assert_array_equal(greys(television)[screen], ale.getScreenGrayscale())


@pytest.mark.parametrize(
    ("added", "television", "numbers"),
    [
        (0, Format.NTSC, range(0, 256, 2)),
        (1, Format.NTSC, range(0, 256, 2)),
        (PAL_ADDED, Format.PAL, range(0, 256, 2)),
        (PAL_ADDED + 1, Format.PAL, range(1, 256, 2)),
    ],
    ids=["NTSC", "NTSC, odd lines", "PAL", "PAL, odd lines"],
)
def test_every_colour_looks_as_in_ale(load, added: int, television: Format, numbers: range) -> None:
    ale = load(colour_bars([added]))
    for _ in range(2):
        ale.act(0)
    assert set(numbers) <= set(np.unique(ale.getScreen()).tolist())
    assert_colours_are_equal(ale, television)


@pytest.mark.parametrize("name", PHOSPHOR)
def test_pictures_do_not_mix_frames(name: str) -> None:
    """ALE knows the games that flicker on purpose, and does not blend their frames."""
    rom = roms.find(name)
    ale = load_file(rom.source)
    actions = ale.getLegalActionSet()
    rng = np.random.default_rng(0)
    for _ in range(30):
        ale.act(actions[rng.integers(len(actions))])
        assert_colours_are_equal(ale, television_of(rom.game).format)


def frames_as_ntsc(added: list[int]) -> list[int]:
    """Scanlines of the first 60 frames on an NTSC console; the first ends with the first VSYNC."""
    frames = [3]
    for more in added:
        whole, rest = divmod(SHORTEST + more - 1, CUT)
        frames += [CUT] * whole + [rest + 1]
    return frames[:60]


@pytest.mark.parametrize("seed", sample(range(12), 4))
def test_the_television_of_an_unknown_rom_is_found_as_ale_finds_it(load, seed: int) -> None:
    rng = np.random.default_rng(seed)
    longer = int(rng.choice([23, 24, 27, 28, 29, 30, PAL_ADDED]))
    share = rng.uniform(0.4, 1.0)
    added = [longer if rng.random() < share else 0 for _ in range(80)]
    found = television_of(None, frames_as_ntsc(added))
    assert load(colour_bars(added)).getScreenDims() == (found.height, 160)


@pytest.mark.parametrize(("first", "television"), [(30, Format.PAL), (31, Format.NTSC)])
def test_thirty_frames_are_watched(load, first: int, television: Format) -> None:
    added = [0] * first + [PAL_ADDED] * 60
    assert detect(frames_as_ntsc(added)) is television
    assert load(colour_bars(added)).getScreenDims()[0] == television.height


@pytest.mark.parametrize("name", ["adventure", "carnival", "journey_escape", "pong", "pooyan"])
def test_known_games_have_the_height_that_ale_gives_them(name: str) -> None:
    rom = roms.find(name)
    assert load_file(rom.source).getScreenDims() == (television_of(rom.game).height, 160)
