"""The map of the states."""

import numpy as np

from worldloom.envs.covid.rendering import GAP, HEAD, MARGIN, SICK, TILE, TILE_POSITIONS, render_map


def tile(image: np.ndarray, code: str) -> np.ndarray:
    """The part of the picture that shows a state."""
    row, column = TILE_POSITIONS[code]
    top, left = int(MARGIN + HEAD + row * (TILE + GAP)), int(MARGIN + column * (TILE + GAP))
    return image[top : top + int(TILE), left : left + int(TILE)]


def test_every_state_has_a_tile_of_its_own():
    assert len(TILE_POSITIONS) == len(set(TILE_POSITIONS.values())) == 51


def test_strict_states_are_dark_and_ill_ones_have_a_red_bar():
    codes = list(TILE_POSITIONS)
    image = render_map(
        codes,
        [10.0 if code == "NY" else 1.0 for code in codes],
        [0.025 if code == "CA" else 0.0 for code in codes],
        ["2020-03-22", "day 1"],
    )
    assert image.dtype == np.uint8 and image.shape[2] == 3
    assert tile(image, "NY")[2, 2].sum() < 300 < tile(image, "CA")[2, 2].sum()
    red = (tile(image, "CA")[-3] == SICK).all(axis=1)
    assert red.sum() == int(TILE) // 2 and not (tile(image, "NY")[-3] == SICK).all(axis=1).any()


def test_states_of_no_place_stand_in_rows():
    image = render_map([f"S{i}" for i in range(51)], np.ones(51), np.zeros(51))
    assert image.shape == render_map(list(TILE_POSITIONS), np.ones(51), np.zeros(51)).shape
