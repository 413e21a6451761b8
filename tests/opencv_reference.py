"""What observations of Atari games equal: OpenCV on x86-64, whose images are stored, and within one grey level OpenCV elsewhere.

OpenCV rounds means that lie in the middle between two grey levels differently on other processors, and so do EnvPool and ale-py, which have an OpenCV
of their own inside. Ours are the same images on every machine. Run this file on x86-64 to store the images again.
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

import numpy as np
from atari_pictures import LOOKS, palettes, pictures

from worldloom.atari.frames.observe import Look, Observer

STORED = Path(__file__).parent / "atari" / "opencv_x86.npz"
CONSOLES = 2
"""Consoles of each look whose images are stored; the others are compared with the local library only."""
SEED = 11


def is_x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64")


def frames_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """For a look of ``LOOKS``: pictures of its consoles, uint8 (consoles, 2, lines, 160), and the game of each, int32 (consoles,)."""
    _, heights = LOOKS[name]
    rng = np.random.default_rng(SEED)
    return pictures(rng, CONSOLES, max(heights)), (np.arange(CONSOLES) % len(heights)).astype(np.int32)


def resized(frames: np.ndarray, palette: np.ndarray, height: int, look: Look, size: tuple[int, int]) -> np.ndarray:
    """The brighter of two pictures of one console as the local OpenCV makes it, uint8 (h, w) or (h, w, 3)."""
    import cv2

    brighter = np.maximum(*palette[frames[:, :height]])
    if not look.height:
        return np.pad(brighter, [(0, size[0] - height)] + [(0, 0)] * (brighter.ndim - 1))
    return cv2.resize(brighter, size[::-1], interpolation=cv2.INTER_AREA if look.area else cv2.INTER_LINEAR)


def local_images(name: str) -> np.ndarray:
    """What the local OpenCV makes of :func:`frames_of`, uint8 (consoles, h, w, ...)."""
    import warp as wp

    look, heights = LOOKS[name]
    (frames, game), colours = frames_of(name), palettes(len(heights), look.colour)
    size = Observer(look, heights, colours, wp.get_device("cpu")).size
    return np.stack([resized(frames[k], colours[game[k]], heights[game[k]], look, size) for k in range(CONSOLES)])


def stored_names() -> list[str]:
    """The looks whose images are stored: all that change the size of a picture."""
    return [name for name, (look, _) in LOOKS.items() if look.height]


@cache
def stored_images() -> dict[str, np.ndarray]:
    """By look: what OpenCV on x86-64 makes of :func:`frames_of`."""
    with np.load(STORED) as stored:
        return {name: stored[name] for name in stored.files}


@cache
def opencv_rounds_as_x86() -> bool:
    """Whether the local OpenCV makes exactly the images that are stored."""
    return all(np.array_equal(local_images(name), stored_images()[name]) for name in stored_names())


def assert_opencvs(ours: np.ndarray, theirs: np.ndarray, what: str = "") -> None:
    """Ours are the pictures of the local OpenCV: exactly on x86-64 and wherever it rounds alike, otherwise within one grey level."""
    _assert_same(ours, theirs, what, exact=is_x86() or opencv_rounds_as_x86())


def assert_environments(ours: np.ndarray, theirs: np.ndarray, what: str = "") -> None:
    """Ours are the pictures of another environment, which has an OpenCV of its own inside: exactly on x86-64, elsewhere within one grey level."""
    _assert_same(ours, theirs, what, exact=is_x86())


def _assert_same(ours: np.ndarray, theirs: np.ndarray, what: str, exact: bool) -> None:
    ours, theirs = np.asarray(ours), np.asarray(theirs)
    assert ours.shape == theirs.shape and ours.dtype == theirs.dtype == np.uint8, (
        what,
        ours.shape,
        theirs.shape,
        ours.dtype,
        theirs.dtype,
    )
    if exact:
        np.testing.assert_array_equal(ours, theirs, err_msg=what)
    else:
        apart = np.abs(ours.astype(np.int16) - theirs)
        assert apart.max(initial=0) <= 1, (
            f"{what}: {int((apart > 1).sum())} pixels differ by more than one grey level, at most by {int(apart.max())}"
        )


if __name__ == "__main__":
    assert is_x86(), "the images to compare with are those of OpenCV on x86-64"
    np.savez_compressed(STORED, **{name: local_images(name) for name in stored_names()})
    print(f"{STORED}: {STORED.stat().st_size:,} bytes")
