"""Observations against OpenCV and NumPy."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import warp as wp
from atari_pictures import FRAME_FORMATS, palettes, pictures
from opencv_reference import assert_opencvs, resized

from worldloom.atari.frames.observe import FrameFormat, FrameSelection, Observer
from worldloom.atari.frames.palettes import greys
from worldloom.atari.frames.resize import resize_plan
from worldloom.atari.frames.television import Format
from worldloom.core.base.errors import InputError

cv2 = pytest.importorskip("cv2", reason="OpenCV is what pictures are compared with")
CPU = wp.get_device("cpu")


@pytest.mark.parametrize("name", FRAME_FORMATS)
def test_pictures_equal_opencv(name: str):
    frame_format, heights = FRAME_FORMATS[name]
    observer, rng, count = (
        Observer(frame_format, heights, palettes(len(heights), frame_format.colour), CPU),
        np.random.default_rng(0),
        8,
    )
    frames, game = pictures(rng, count, max(heights)), rng.integers(0, len(heights), count).astype(np.int32)
    before = rng.integers(0, 256, (count, *observer.shape)).astype(np.uint8)
    screen = wp.array(before.reshape(count, -1), device=CPU)
    observer.launch(wp.array(frames, device=CPU), wp.array(game, device=CPU), screen)
    for k in range(count):
        palette = palettes(len(heights), frame_format.colour)[game[k]]
        newest = resized(frames[k], palette, heights[game[k]], frame_format, observer.size)
        newest = newest.transpose(2, 0, 1) if frame_format.colour == "planes" else newest[None]
        observed, older = screen.numpy()[k].reshape(observer.shape), len(before[k]) - len(newest)
        np.testing.assert_array_equal(observed[:older], before[k, len(newest) :], err_msg=f"console {k}")
        assert_opencvs(observed[older:], newest, f"console {k}")


class Batch:
    """Six consoles with successive pictures, and their expected observations."""

    def __init__(self, older: str = "repeat") -> None:
        self.observer = Observer(FrameFormat(older=older), [210], palettes(1, "grey"), CPU)
        rng = np.random.default_rng(3)
        self.frames = pictures(rng, 6, 210)
        self.before = rng.integers(0, 256, (6, 4, 84, 84)).astype(np.uint8)

    def after(self, show: list[int] | None = None, fresh: list[bool] | None = None, **where) -> np.ndarray:
        screen, game = wp.array(self.before, device=CPU), wp.zeros(6, dtype=wp.int32, device=CPU)
        arrays = [
            None if numbers is None else wp.array(numbers, dtype=kind, device=CPU)
            for numbers, kind in ((show, wp.int32), (fresh, wp.bool))
        ]
        self.observer.launch(wp.array(self.frames, device=CPU), game, screen, *arrays, **where)
        return screen.numpy()

    def picture(self, k: int, *planes: int) -> np.ndarray:
        palette = greys(Format.NTSC)
        return cv2.resize(
            np.maximum.reduce([palette[self.frames[k, n]] for n in planes]), (84, 84), interpolation=cv2.INTER_AREA
        )


def test_what_becomes_of_two_pictures():
    batch = Batch()
    seen = batch.after(
        [
            FrameSelection.SAME,
            FrameSelection.FIRST,
            FrameSelection.SECOND,
            FrameSelection.BRIGHTER,
            FrameSelection.NOTHING_NEW,
            FrameSelection.BRIGHTER,
        ]
    )
    newest = [
        batch.before[0, 3],
        batch.picture(1, 0),
        batch.picture(2, 1),
        batch.picture(3, 0, 1),
        None,
        batch.picture(5, 0, 1),
    ]
    for k in (0, 1, 2, 3, 5):
        np.testing.assert_array_equal(seen[k, :3], batch.before[k, 1:], err_msg=f"console {k}")
        assert_opencvs(seen[k, 3], newest[k], f"console {k}")
    np.testing.assert_array_equal(seen[4], batch.before[4])


@pytest.mark.parametrize("older", ["repeat", "zero"])
def test_a_stack_begins(older: str):
    batch = Batch(older)
    seen = batch.after([FrameSelection.SECOND] * 5 + [FrameSelection.SAME], [True, False, True, False, True, True])
    for k in range(6):
        newest = batch.before[k, 3] if k == 5 else batch.picture(k, 1)
        begun = [seen[k, 3]] * 3 if older == "repeat" else [np.zeros((84, 84), np.uint8)] * 3
        np.testing.assert_array_equal(
            seen[k, :3], batch.before[k, 1:] if k in (1, 3) else begun, err_msg=f"console {k}"
        )
        assert_opencvs(seen[k, 3], newest, f"console {k}")


def test_consoles_that_are_not_meant_stay_as_they_are():
    batch = Batch()
    whole = batch.after()
    mask = wp.array([True, False, True, True, False, True], dtype=wp.bool, device=CPU)
    for value, picked in ((True, [2, 3]), (False, [1, 4])):
        seen = batch.after(first=1, count=4, mask=mask, value=value)
        for k in range(6):
            np.testing.assert_array_equal(seen[k], whole[k] if k in picked else batch.before[k])


def test_threads_share_a_batch():
    batch = Batch()
    screen, frames, game = (
        wp.array(batch.before, device=CPU),
        wp.array(batch.frames, device=CPU),
        wp.zeros(6, dtype=wp.int32, device=CPU),
    )
    threads = [
        threading.Thread(target=batch.observer.launch, args=(frames, game, screen), kwargs={"first": 2 * n, "count": 2})
        for n in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(screen.numpy(), batch.after())


def test_means_in_the_middle_between_two_numbers():
    """Integer weights cannot decide these means: OpenCV rounds some up and some down."""
    batch, plan = Batch(), resize_plan((210, 160), (84, 84))
    batch.frames[:] = np.random.default_rng(8).choice([2, 8, 14], (6, 1, 210, 160))
    source = greys(Format.NTSC)[batch.frames[0, 0]].astype(int)
    across = sum(plan.columns.weights[:, i] * source[:, plan.columns.first + i] for i in range(3))
    twice = 2 * sum(plan.lines.weights[:, j, None] * across[plan.lines.first + j] for j in range(3))
    seen = batch.after()[:, 3]
    risen = (2 * plan.unit * seen[0].astype(int) - twice)[twice % (2 * plan.unit) == plan.unit]
    assert set(risen) == {-plan.unit, plan.unit}
    assert_opencvs(seen, np.stack([batch.picture(k, 0) for k in range(6)]))


def test_shapes():
    for frame_format, shape in (
        (FrameFormat(), (4, 84, 84)),
        (FrameFormat(colour="planes"), (12, 84, 84)),
        (FrameFormat(64, 96, stack=2, colour="pixels"), (2, 64, 96, 3)),
        (FrameFormat(0, 0, stack=1), (1, 250, 160)),
    ):
        assert Observer(frame_format, [210, 250], palettes(2, frame_format.colour), CPU).shape == shape


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: FrameFormat(84, 0), "84 x 0"),
        (lambda: FrameFormat(-1, 84), "-1 x 84"),
        (lambda: FrameFormat(stack=0), "stack of 0"),
        (lambda: Observer(FrameFormat(), [], [], CPU), "0 palettes"),
        (lambda: Observer(FrameFormat(), [300], palettes(1, "grey"), CPU), "300"),
        (lambda: Observer(FrameFormat(), [210, 210], palettes(1, "grey"), CPU), "1 palettes"),
    ],
)
def test_what_cannot_be_shown_is_refused(make, words: str):
    with pytest.raises(InputError, match=words):
        make()


@pytest.mark.parametrize(
    ("frames", "seen", "words"),
    [
        ((2, 2, 209, 160), (2, 4, 84, 84), "210 or more"),
        ((2, 1, 210, 160), (2, 4, 84, 84), "consoles, 2"),
        ((2, 2, 210, 160), (2, 3, 84, 84), "screen"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(frames: tuple[int, ...], seen: tuple[int, ...], words: str):
    observer = Observer(FrameFormat(), [210], palettes(1, "grey"), CPU)
    arrays = [wp.zeros(shape, dtype=wp.uint8, device=CPU) for shape in (frames, seen)]
    with pytest.raises(InputError, match=words):
        observer.launch(arrays[0], wp.zeros(2, dtype=wp.int32, device=CPU), arrays[1])
