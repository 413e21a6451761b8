"""References of resized observations: stored images of OpenCV on x86-64.

OpenCV rounds means halfway between two grey levels differently on other CPUs, and so do EnvPool and ale-py, which
bundle OpenCV. Worldloom's observations are equal on all machines. Run this file on x86-64 to store the images again.
"""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path

import numpy as np
from atari_pictures import FRAME_FORMATS, palettes, pictures

from worldloom.atari.frames.observe import FrameFormat, Observer

STORED = Path(__file__).parent / "atari" / "opencv_x86.npz"
CONSOLES = 2
"""Consoles of each format whose images are stored; the others are compared with the local library only."""
SEED = 11


def is_x86() -> bool:
    return platform.machine().lower() in ("x86_64", "amd64")


def frames_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """By name in ``FRAME_FORMATS``: pictures, uint8 (consoles, 2, lines, 160), and games, int32 (consoles,)."""
    _, heights = FRAME_FORMATS[name]
    rng = np.random.default_rng(SEED)
    return pictures(rng, CONSOLES, max(heights)), (np.arange(CONSOLES) % len(heights)).astype(np.int32)


def resized(
    frames: np.ndarray, palette: np.ndarray, height: int, frame_format: FrameFormat, size: tuple[int, int]
) -> np.ndarray:
    """The maximum of two pictures of one console, resized by the local OpenCV: uint8 (h, w) or (h, w, 3)."""
    import cv2

    brighter = np.maximum(*palette[frames[:, :height]])
    if not frame_format.height:
        return np.pad(brighter, [(0, size[0] - height)] + [(0, 0)] * (brighter.ndim - 1))
    return cv2.resize(brighter, size[::-1], interpolation=cv2.INTER_AREA if frame_format.area else cv2.INTER_LINEAR)


def local_images(name: str) -> np.ndarray:
    """The result of the local OpenCV for :func:`frames_of`, uint8 (consoles, h, w, ...)."""
    import warp as wp

    frame_format, heights = FRAME_FORMATS[name]
    (frames, game), colours = frames_of(name), palettes(len(heights), frame_format.colour)
    size = Observer(frame_format, heights, colours, wp.get_device("cpu")).size
    return np.stack(
        [resized(frames[k], colours[game[k]], heights[game[k]], frame_format, size) for k in range(CONSOLES)]
    )


def stored_names() -> list[str]:
    """The formats whose images are stored: all that change the size of a picture."""
    return [name for name, (frame_format, _) in FRAME_FORMATS.items() if frame_format.height]


@cache
def stored_images() -> dict[str, np.ndarray]:
    """By format: the result of OpenCV on x86-64 for :func:`frames_of`."""
    with np.load(STORED) as stored:
        return {name: stored[name] for name in stored.files}


@cache
def opencv_rounds_as_x86() -> bool:
    """Whether the local OpenCV gives exactly the stored images."""
    return all(np.array_equal(local_images(name), stored_images()[name]) for name in stored_names())


def opencv_is_exact() -> bool:
    """Whether the local OpenCV computes as on x86-64, so that its images must be equal."""
    return is_x86() or opencv_rounds_as_x86()


def assert_opencvs(ours: np.ndarray, theirs: np.ndarray, what: str = "") -> None:
    """Assert equality with the local OpenCV: exact on x86-64 and wherever it rounds alike, else within one level."""
    _assert_same(ours, theirs, what, exact=opencv_is_exact())


def assert_environments(ours: np.ndarray, theirs: np.ndarray, what: str = "") -> None:
    """Assert equality with another environment, which bundles OpenCV: exact on x86-64, else within one grey level."""
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
