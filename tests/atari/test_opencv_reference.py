"""Stored reference images, and the comparison with libraries that round differently."""

from __future__ import annotations

import numpy as np
import opencv_reference
import pytest
import warp as wp
from atari_pictures import FRAME_FORMATS, palettes

from worldloom.atari.frames.observe import Observer

CPU = wp.get_device("cpu")


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Simulate a machine with another CPU and reset the cached comparison with its OpenCV."""
    pytest.importorskip("cv2", reason="OpenCV is what is replaced")
    monkeypatch.setattr(opencv_reference.platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(
        opencv_reference, "opencv_rounds_as_x86", opencv_reference.opencv_rounds_as_x86.__wrapped__
    )  # without its cache
    return monkeypatch


@pytest.mark.parametrize("name", opencv_reference.stored_names())
def test_observations_are_the_stored_images(name: str) -> None:
    frame_format, heights = FRAME_FORMATS[name]
    observer = Observer(frame_format, heights, palettes(len(heights), frame_format.colour), CPU)
    frames, game = opencv_reference.frames_of(name)
    screen = wp.zeros((len(game), int(np.prod(observer.shape))), dtype=wp.uint8, device=CPU)
    observer.launch(wp.array(frames, device=CPU), wp.array(game, device=CPU), screen)
    wanted = opencv_reference.stored_images()[name]
    newest = wanted.transpose(0, 3, 1, 2) if frame_format.colour == "planes" else wanted[:, None]
    np.testing.assert_array_equal(screen.numpy().reshape(len(game), *observer.shape)[:, -newest.shape[1] :], newest)


def test_the_stored_images_are_small() -> None:
    assert opencv_reference.STORED.stat().st_size < 300_000


@pytest.mark.skipif(not opencv_reference.is_x86(), reason="the images are those of OpenCV on x86-64")
def test_opencv_on_x86_makes_the_stored_images() -> None:
    pytest.importorskip("cv2", reason="OpenCV is what is compared")
    assert opencv_reference.opencv_rounds_as_x86()


@pytest.mark.parametrize("by", [1, -1, 2, -2])
def test_another_rounding_is_accepted_as_far_as_one_grey_level(elsewhere: pytest.MonkeyPatch, by: int) -> None:
    import cv2

    resize, frame_format = cv2.resize, FRAME_FORMATS["usual"][0]

    def otherwise(picture: np.ndarray, *arguments: object, **named: object) -> np.ndarray:
        image = resize(picture, *arguments, **named).astype(np.int16)
        image[::7, ::5] += by
        return np.clip(image, 0, 255).astype(np.uint8)

    frames, _ = opencv_reference.frames_of("usual")
    ours = opencv_reference.resized(frames[0], palettes(1, "grey")[0], 210, frame_format, (84, 84))
    elsewhere.setattr(cv2, "resize", otherwise)
    theirs = opencv_reference.resized(frames[0], palettes(1, "grey")[0], 210, frame_format, (84, 84))
    assert not np.array_equal(ours, theirs) and not opencv_reference.opencv_rounds_as_x86()
    for compare in (opencv_reference.assert_opencvs, opencv_reference.assert_environments):
        if abs(by) == 1:
            compare(ours, theirs)
        else:
            with pytest.raises(AssertionError, match="differ by more than one grey level"):
                compare(ours, theirs)
        with pytest.raises(AssertionError):
            compare(ours, theirs[:-1])


def test_no_difference_is_accepted_where_the_rounding_is_the_same(elsewhere: pytest.MonkeyPatch) -> None:
    elsewhere.setattr(opencv_reference, "opencv_rounds_as_x86", lambda: True)
    one = np.full((84, 84), 7, np.uint8)
    with pytest.raises(AssertionError, match="Arrays are not equal"):
        opencv_reference.assert_opencvs(one, one + np.uint8(1))
    elsewhere.setattr(opencv_reference.platform, "machine", lambda: "x86_64")
    with pytest.raises(AssertionError, match="Arrays are not equal"):
        opencv_reference.assert_environments(one, one + np.uint8(1))
