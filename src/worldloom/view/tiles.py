"""Images of several worlds as tiles of one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError

Frame = np.ndarray[Any, np.dtype[np.uint8]]


def tile_images(images: Sequence[Frame], columns: int | None = None) -> Frame:
    """Images side by side in rows, uint8 (rows * height, columns * width, 3). Cells that are left over are black.

    Args:
        images: Images of one size, uint8 (height, width, 3); a single one is returned unchanged.
        columns: Images per row; by default about as many as there are rows.
    """
    if len({image.shape for image in images}) != 1:
        raise InputError("tiles need at least one image, and images of one size")
    if columns is not None and columns < 1:
        raise InputError(f"tiles need at least one column, not {columns}")
    if len(images) == 1:
        return images[0]
    across = columns or math.ceil(math.sqrt(len(images)))
    down = math.ceil(len(images) / across)
    height, width, channels = images[0].shape
    cells = np.zeros((down * across, height, width, channels), images[0].dtype)
    cells[: len(images)] = images
    return cells.reshape(down, across, height, width, channels).swapaxes(1, 2).reshape(down * height, -1, channels)
