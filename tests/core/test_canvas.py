"""The canvas: positions of shapes, anti-aliased edges, and clipping."""

import numpy as np
import pytest

from worldloom.core.model import canvas as canvas_module
from worldloom.core.model.canvas import Canvas, rotated, text_width

RED, BLUE = (255, 0, 0), (0, 0, 255)


def painted(canvas: Canvas) -> np.ndarray:
    """How much of each pixel is no longer white, 0 to 1, shape (height, width); for paint without any green in it."""
    return 1.0 - canvas.image()[:, :, 1] / 255.0


def test_an_empty_canvas_is_its_background():
    image = Canvas(4, 3, (10, 20, 30)).image()
    assert image.shape == (3, 4, 3) and image.dtype == np.uint8
    assert (image == (10, 20, 30)).all()


@pytest.mark.parametrize("area_cost", [0, 10**9])
def test_an_image_is_the_same_whichever_areas_are_averaged(monkeypatch, area_cost):
    def drawn() -> np.ndarray:
        canvas = Canvas(41, 30, (9, 90, 200))
        canvas.circle(3, 3, 7.3, RED)  # beyond the upper left corner
        canvas.polygon([(20.2, 5), (44, 9.5), (30, 20.7)], BLUE)  # beyond the right edge
        canvas.line([(1, 29), (12, 18), (13, 33)], RED, 2.5)
        canvas.rectangle(50, 50, 3, 3, RED)  # outside
        canvas.text(5.5, 8.25, "A1", BLUE, 1.0)
        return canvas.image()

    monkeypatch.setattr(Canvas, "_painted_areas", lambda canvas: [(0, canvas.height, 0, canvas.width)])
    expected = drawn()
    monkeypatch.undo()
    monkeypatch.setattr(canvas_module, "AREA_COST", area_cost)
    np.testing.assert_array_equal(drawn(), expected)


def test_a_rectangle_covers_its_pixels_and_no_others():
    canvas = Canvas(6, 5)
    canvas.rectangle(1, 2, 3, 2, RED)
    expected = np.zeros((5, 6))
    expected[2:4, 1:4] = 1.0
    np.testing.assert_array_equal(painted(canvas), expected)
    assert (canvas.image()[2, 1] == RED).all()


def test_half_a_pixel_is_half_covered():
    canvas = Canvas(3, 1)
    canvas.rectangle(0.5, 0, 1, 1, BLUE)
    np.testing.assert_allclose(painted(canvas), [[0.5, 0.5, 0.0]], atol=0.01)


@pytest.mark.parametrize(
    "points", [[(1, 1), (5, 1), (5, 4), (1, 4)], [(1, 4), (5, 4), (5, 1), (1, 1)]], ids=["clockwise", "anticlockwise"]
)
def test_a_polygon_of_four_corners_is_that_rectangle(points):
    canvas, rectangle = Canvas(7, 6), Canvas(7, 6)
    canvas.polygon(points, RED)
    rectangle.rectangle(1, 1, 4, 3, RED)
    np.testing.assert_array_equal(canvas.image(), rectangle.image())


def test_areas_of_shapes():
    canvas = Canvas(100, 100)
    canvas.polygon([(10, 10), (90, 10), (10, 90)], RED)
    assert painted(canvas).sum() == pytest.approx(80 * 80 / 2, rel=0.01)
    canvas = Canvas(100, 100)
    canvas.circle(50, 50, 30, RED)
    assert painted(canvas).sum() == pytest.approx(np.pi * 900, rel=0.01)
    canvas = Canvas(100, 100)
    canvas.line([(10, 20), (70, 80)], RED, 6.0)
    assert painted(canvas).sum() == pytest.approx(6.0 * 60 * np.sqrt(2.0), rel=0.01)


def test_a_ring_crossing_itself_leaves_its_middle_empty():
    angles = np.arange(5) * 0.8 * np.pi
    canvas = Canvas(100, 100)
    canvas.polygon([(50 + 40 * np.sin(a), 50 - 40 * np.cos(a)) for a in angles], RED)
    assert painted(canvas)[50, 50] == 0.0 and painted(canvas)[20, 50] == 1.0


def test_corners_of_a_wide_line_are_round():
    canvas = Canvas(60, 60)
    canvas.line([(10, 50), (30, 20), (50, 50)], RED, 10.0)
    assert painted(canvas)[17, 29] == 1.0, "above the corner, where the two pieces alone leave a notch"


@pytest.mark.parametrize(
    "paint",
    [
        lambda canvas: canvas.rectangle(-50, -50, 20, 20, RED),
        lambda canvas: canvas.rectangle(30, 3, 5, 5, RED),
        lambda canvas: canvas.circle(-20, 4, 10, RED),
        lambda canvas: canvas.circle(4, 40, 10, RED),
        lambda canvas: canvas.polygon([(20, 20), (30, 20), (25, 30)], RED),
        lambda canvas: canvas.line([(-10, -10), (-20, 5), (-10, 20)], RED, 3.0),
        lambda canvas: canvas.text(100, 100, "ABC", RED),
        lambda canvas: canvas.line([(4, 4), (4, 4)], RED),
        lambda canvas: canvas.text(1, 1, "", RED),
    ],
)
def test_what_lies_outside_or_is_empty_paints_nothing(paint):
    canvas = Canvas(10, 10)
    paint(canvas)
    assert painted(canvas).sum() == 0.0


def test_a_shape_larger_than_the_image_fills_it():
    canvas = Canvas(10, 10)
    canvas.circle(5, 5, 1e9, RED)
    assert painted(canvas).min() == 1.0


def test_later_paint_covers_earlier():
    canvas = Canvas(10, 10)
    canvas.rectangle(0, 0, 10, 10, RED)
    canvas.circle(5, 5, 3, BLUE)
    assert tuple(canvas.image()[5, 5]) == BLUE and tuple(canvas.image()[0, 0]) == RED


def test_letters_are_drawn_dot_by_dot():
    canvas = Canvas(5, 7)
    canvas.text(0, 0, "t", RED, 1.0)
    rows = ["".join("#" if dot else "." for dot in row) for row in painted(canvas) > 0.5]
    assert rows == ["#####", "..#..", "..#..", "..#..", "..#..", "..#..", "..#.."]


def test_text_is_as_wide_as_it_says_and_letters_differ():
    assert text_width("", 2.0) == 0.0
    canvas = Canvas(200, 20)
    canvas.text(0, 0, "HMH", RED, 2.0)
    assert np.flatnonzero(painted(canvas).any(axis=0)).max() + 1 == text_width("HMH", 2.0)
    shapes = set()
    for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,:-+/%=!?() ":
        canvas = Canvas(5, 7)
        canvas.text(0, 0, letter, RED, 1.0)
        shapes.add(painted(canvas).tobytes())
    assert len(shapes) == 26 + 10 + 13


def test_an_unknown_character_becomes_a_question_mark():
    strange, question = Canvas(5, 7), Canvas(5, 7)
    strange.text(0, 0, "@", RED, 1.0)
    question.text(0, 0, "?", RED, 1.0)
    np.testing.assert_array_equal(strange.image(), question.image())
    assert painted(question).sum() > 0.0


def test_points_turn_clockwise_in_the_image():
    ((x, y),) = rotated([(0.0, -10.0)], np.pi / 2.0, 3.0, 4.0)
    assert (x, y) == pytest.approx((13.0, 4.0))
