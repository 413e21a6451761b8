"""Resize plans against OpenCV, evaluated with NumPy so that many sizes can be tested."""

from __future__ import annotations

import numpy as np
import pytest
from opencv_reference import assert_opencvs, opencv_is_exact

from worldloom.atari.frames.resize import Interpolation, ResizePlan, resize_plan, unscaled_plan

cv2 = pytest.importorskip("cv2", reason="OpenCV is what sizes are compared with")
FLOAT = np.float32


def means(plan: ResizePlan, picture: np.ndarray) -> np.ndarray:
    """The resized picture by integer weights, with OpenCV's arithmetic for ambiguous means."""
    lines, columns, source = plan.lines, plan.columns, picture.astype(np.int64)
    across = sum(columns.weights[:, i] * source[:, columns.first + i] for i in range(columns.taps))
    sums = sum(lines.weights[:, j, None] * across[lines.first + j] for j in range(lines.taps))
    rounded, rest = np.divmod(2 * sums + plan.unit, 2 * plan.unit)
    doubt = (rest <= plan.doubt) | (rest >= 2 * plan.unit - plan.doubt)
    if plan.kind is Interpolation.QUARTERS:
        return rounded.astype(np.uint8)
    if plan.kind is Interpolation.BOX:
        real = sums.astype(FLOAT) * FLOAT(1 / plan.unit)
    else:
        parts = sum(
            (picture.astype(FLOAT)[:, columns.first + i] * columns.shares[:, i] for i in range(columns.taps)), FLOAT(0)
        )
        real = sum((lines.shares[:, j, None] * parts[lines.first + j] for j in range(lines.taps)), FLOAT(0))
    assert np.array_equal(np.rint(real)[~doubt], rounded[~doubt]), (
        "a mean that is not in doubt is rounded otherwise by OpenCV"
    )
    return np.where(doubt, np.rint(real), rounded).astype(np.uint8)


def between(plan: ResizePlan, picture: np.ndarray) -> np.ndarray:
    lines, columns, source = plan.lines, plan.columns, picture.astype(np.int64)
    across = sum(
        columns.weights[:, i] * source[:, np.minimum(columns.first + i, picture.shape[1] - 1)] for i in range(2)
    )
    down = sum(
        lines.weights[:, j, None] * (across[np.clip(lines.first + j, 0, len(source) - 1)] >> 4) >> 16 for j in range(2)
    )
    return (down + 2 >> 2).astype(np.uint8)


def apply_plan(plan: ResizePlan, picture: np.ndarray) -> np.ndarray:
    return (between if plan.kind is Interpolation.LINEAR else means)(plan, picture)


def noise(rng: np.random.Generator, height: int, colours: int) -> np.ndarray:
    """A picture of few colours has many means halfway between two integers."""
    return rng.integers(0, 256, colours).astype(np.uint8)[rng.integers(0, colours, (height, 160))]


def interpolated(picture: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Bilinear interpolation between the centres of pixels, in float64."""
    (above, below, down), (left, right, across) = map(_neighbours, picture.shape, size)
    columns = (1.0 - across) * picture[:, left] + across * picture[:, right]
    return (1.0 - down)[:, None] * columns[above] + down[:, None] * columns[below]


def _neighbours(source: int, target: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The two source pixels of each target pixel, and the weight of the second."""
    places = np.clip((np.arange(target) + 0.5) * source / target - 0.5, 0.0, source - 1.0)
    first = np.floor(places).astype(np.int64)
    return first, np.minimum(first + 1, source - 1), places - first


@pytest.mark.parametrize("area", [True, False])
def test_sizes_at_random(area: bool):
    """OpenCV interpolates coarsely on some CPUs, and off by a pixel in places: there the exact means are compared."""
    rng, kinds = np.random.default_rng(5), set()
    for trial in range(120):
        height = int(rng.choice([210, 214, 250, rng.integers(1, 257)]))
        size = (
            (int(rng.integers(1, height + 1)), int(rng.integers(1, 161)))
            if trial % 3
            else (int(rng.integers(1, 400)), int(rng.integers(1, 300)))
        )
        plan, picture = resize_plan((height, 160), size, area), noise(rng, height, 256 if trial % 2 else 3)
        kinds.add(plan.kind)
        ours, what = apply_plan(plan, picture), f"{height} lines to {size}, {plan.kind!r}"
        if not area:
            assert np.abs(ours - interpolated(picture, size)).max() < 1.0, what
        if area or opencv_is_exact():
            method = cv2.INTER_AREA if area else cv2.INTER_LINEAR
            assert_opencvs(ours, cv2.resize(picture, size[::-1], interpolation=method), what)
    assert kinds >= ({Interpolation.AREA, Interpolation.LINEAR} if area else {Interpolation.LINEAR})


@pytest.mark.parametrize(
    ("size", "kind"),
    [
        ((84, 84), Interpolation.AREA),
        ((105, 80), Interpolation.QUARTERS),
        ((70, 40), Interpolation.BOX),
        ((35, 20), Interpolation.BOX),
        ((210, 80), Interpolation.BOX),
        ((210, 160), Interpolation.BOX),
    ]
    + [
        ((220, 84), Interpolation.LINEAR),
        ((70, 200), Interpolation.LINEAR),
        ((420, 320), Interpolation.LINEAR),
        ((1, 1), Interpolation.BOX),
        ((209, 159), Interpolation.AREA),
    ],
)
def test_sizes_of_every_kind(size: tuple[int, int], kind: Interpolation):
    plan, rng = resize_plan((210, 160), size), np.random.default_rng(1)
    assert plan.kind is kind
    for colours in (256, 2, 5):
        picture = noise(rng, 210, colours)
        assert_opencvs(apply_plan(plan, picture), cv2.resize(picture, size[::-1], interpolation=cv2.INTER_AREA))


def test_few_means_are_in_doubt_at_the_usual_size():
    plan = resize_plan((210, 160), (84, 84))
    assert (plan.unit, plan.doubt) == (200, 0), "only means that lie exactly in the middle"
    assert (plan.lines.taps, plan.columns.taps) == (3, 3)


def test_weights_add_up_inside_of_the_source():
    for source, target in ((210, 84), (250, 84), (214, 83), (160, 84), (160, 79), (160, 1)):
        axis = resize_plan((source, 160), (target, 80)).lines
        assert (axis.weights.sum(axis=1) == axis.unit).all()
        assert axis.first.min() == 0
        assert (axis.first + axis.taps <= source).all()
        np.testing.assert_allclose(axis.shares.sum(axis=1), 1.0, atol=1e-6)


def test_a_whole_picture_has_black_lines_below():
    picture = noise(np.random.default_rng(2), 250, 256)
    seen = means(unscaled_plan(210, 160, 250), picture)
    np.testing.assert_array_equal(seen[:210], picture[:210])
    assert not seen[210:].any()
