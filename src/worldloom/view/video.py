"""Frames of a world as a video file."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import atomic_write

Frame = np.ndarray[Any, np.dtype[np.uint8]]

_OPTIONS: dict[str, dict[str, Any]] = {
    ".mp4": {
        "codec": "libx264",
        "pix_fmt_out": "yuv420p",
        "quality": 7,
        "output_params": ["-preset", "veryfast", "-movflags", "+faststart"],
    },
    ".gif": {
        "codec": "gif",
        "pix_fmt_out": "pal8",
        "quality": None,
        "output_params": ["-vf", "split[a][b];[a]palettegen[p];[b][p]paletteuse"],
    },
}
"""ffmpeg options of each format: H.264 that every browser plays, and GIF with a palette of the frames' colours."""


def write_video(frames: Iterable[Frame], target: Path, frames_per_second: float) -> None:
    """Write ``frames`` to an ``.mp4`` (H.264) or a ``.gif`` file.

    Args:
        frames: Frames, uint8 (height, width, 3), all of one size, read one at a time. H.264 requires an even width and
            height, so the last row or column of an odd size is repeated.
        target: The file, written atomically; an existing file is replaced.
        frames_per_second: Frame rate.
    """
    target = Path(target).expanduser()
    _check_arguments(target, frames_per_second)
    import imageio_ffmpeg  # type: ignore[import-untyped, import-not-found]

    padded = _pad_to_even(frames)
    first = next(padded, None)
    if first is None:
        raise InputError(f"there are no pictures for {target}: at least one is needed")
    options = _OPTIONS[target.suffix.lower()]
    size = (first.shape[1], first.shape[0])
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(target) as part:  # with the same suffix, from which ffmpeg takes the format
            writer = imageio_ffmpeg.write_frames(
                str(part), size, fps=frames_per_second, macro_block_size=2, ffmpeg_log_level="error", **options
            )
            try:
                writer.send(None)
                writer.send(first)
                for frame in padded:
                    writer.send(frame)
            finally:
                writer.close()
    except OSError as error:
        raise InputError(f"cannot write the video {target}: {error}") from None


def _check_arguments(target: Path, frames_per_second: float) -> None:
    if importlib.util.find_spec("imageio_ffmpeg") is None:
        raise InputError("a video needs imageio-ffmpeg: pip install 'worldloom[view]' adds it")
    if target.suffix.lower() not in _OPTIONS:
        raise InputError(f"a video ends in {' or '.join(_OPTIONS)}, not in '{target.suffix}': rename {target}")
    if not frames_per_second > 0:
        raise InputError(f"a video needs more than 0 frames per second, not {frames_per_second}")


def _pad_to_even(frames: Iterable[Frame]) -> Iterator[Frame]:
    """The frames, checked, padded to even heights and widths, in contiguous memory."""
    expected: tuple[int, ...] | None = None
    for i, frame in enumerate(frames):
        array = np.asarray(frame)
        if array.dtype != np.uint8 or array.ndim != 3 or array.shape[2] != 3 or 0 in array.shape:
            raise InputError(
                f"picture {i} of a video must be uint8 (height, width, 3), not {array.dtype} {array.shape}"
            )
        if expected is not None and array.shape != expected:
            raise InputError(
                f"all pictures of a video must have one size: picture {i} is {array.shape}, the first is {expected}"
            )
        expected = array.shape
        height, width = array.shape[:2]
        if height % 2 or width % 2:
            array = np.pad(array, ((0, height % 2), (0, width % 2), (0, 0)), mode="edge")
        yield np.ascontiguousarray(array)
