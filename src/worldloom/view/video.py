"""Frames of a world as a video file."""

from __future__ import annotations

import contextlib
import errno
import importlib.util
import itertools
import os
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.base.files import atomic_write

Frame = np.ndarray[Any, np.dtype[np.uint8]]

_OPTIONS = {
    ".mp4": "-vcodec libx264 -pix_fmt yuv420p -crf 15 -preset veryfast -movflags +faststart",
    ".gif": "-vcodec gif -pix_fmt pal8 -vf split[a][b];[a]palettegen[p];[b][p]paletteuse",
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
    padded = _pad_to_even(frames)
    first = next(padded, None)
    if first is None:
        raise InputError(f"there are no pictures for {target}: at least one is needed")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(target) as part:  # with the same suffix, from which ffmpeg takes the format
            _encode(itertools.chain([first], padded), part, frames_per_second, first.shape)
    except OSError as error:
        raise InputError(f"cannot write the video {target}: {error}") from None


def _encode(frames: Iterable[Frame], target: Path, frames_per_second: float, shape: tuple[int, ...]) -> None:
    """Let ffmpeg encode frames of one shape; OSError where it fails, as where the disk is full."""
    import imageio_ffmpeg  # type: ignore[import-untyped, import-not-found]

    rate = Fraction(frames_per_second).limit_denominator()
    source = f"-f rawvideo -vcodec rawvideo -s {shape[1]}x{shape[0]} -pix_fmt rgb24 -r {rate} -i -".split()
    options = ["-an", *_OPTIONS[target.suffix.lower()].split(), "-v", "error"]
    command = [imageio_ffmpeg.get_ffmpeg_exe(), "-y", *source, *options, str(target.absolute())]
    with tempfile.TemporaryFile() as messages:
        ffmpeg = subprocess.Popen(  # noqa: S603 - in a session of its own, which Ctrl-C does not reach
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=messages, start_new_session=True
        )
        assert ffmpeg.stdin is not None
        try:
            with contextlib.suppress(BrokenPipeError), ffmpeg.stdin:  # its exit code tells why it has ended
                for frame in frames:
                    ffmpeg.stdin.write(frame.data)
        except BaseException:
            ffmpeg.kill()
            raise
        finally:
            code = ffmpeg.wait()
        messages.seek(0)
        text = messages.read().decode(errors="replace")
    if os.strerror(errno.ENOSPC) in text:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    if code:
        raise OSError(" ".join(["ffmpeg ended with code", str(code), *text.splitlines()[-1:]]))


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
