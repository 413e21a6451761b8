"""Images side by side."""

import numpy as np
import pytest

import worldloom as wl
from worldloom.view import tile_images


def image(value):
    return np.full((2, 3, 3), value, np.uint8)


@pytest.mark.parametrize(
    ("count", "columns", "expected"),
    [(1, None, [[1]]), (2, None, [[1, 2]]), (5, None, [[1, 2, 3], [4, 5, 0]]), (3, 1, [[1], [2], [3]])],
)
def test_rows_of_images(count, columns, expected):
    tiles = tile_images([image(k + 1) for k in range(count)], columns)
    assert tiles[::2, ::3, 0].tolist() == expected
    assert tiles.shape == (2 * len(expected), 3 * len(expected[0]), 3)
    assert (tiles[:2, :3] == 1).all()


def test_images_of_one_size():
    for images in ([], [image(0), np.zeros((4, 4, 3), np.uint8)]):
        with pytest.raises(wl.InputError, match="images of one size"):
            tile_images(images)
    with pytest.raises(wl.InputError, match="at least one column"):
        tile_images([image(0)], 0)
