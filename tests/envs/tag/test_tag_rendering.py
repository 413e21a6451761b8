"""The picture of Tag: who is where, which way they go, and who has left."""

from __future__ import annotations

import numpy as np

from worldloom.envs.tag.rendering import BOARD, FADED, HEADER, MARGIN, RUNNER, TAGGER, render_board


def middle_of(image: np.ndarray, color: tuple[int, int, int]) -> tuple[float, float]:
    """The mean place of a color on the board, x to the right and y up, as parts of its side."""
    rows, columns = np.nonzero((image[MARGIN + HEADER :] == color).all(axis=2))
    return float((columns.mean() + 0.5 - MARGIN) / BOARD), float(1.0 - (rows.mean() + 0.5) / BOARD)


def test_players_stand_where_they_are() -> None:
    image = render_board(np.array([[5.0, 15.0]]), np.array([[15.0, 5.0]]), 20.0)
    assert image.shape == (BOARD + HEADER + 2 * MARGIN, BOARD + 2 * MARGIN, 3) and image.dtype == np.uint8
    np.testing.assert_allclose(middle_of(image, TAGGER), (0.25, 0.75), atol=0.003)
    np.testing.assert_allclose(middle_of(image, RUNNER), (0.75, 0.25), atol=0.003)


def test_wedges_point_ahead() -> None:
    here = np.array([[10.0, 10.0]])
    for angle, (dx, dy) in ((0.0, (1, 0)), (np.pi / 2, (0, 1)), (np.pi, (-1, 0)), (-np.pi / 2, (0, -1))):
        x, y = middle_of(render_board(here, np.empty((0, 2)), 20.0, tagger_headings=np.array([angle])), TAGGER)
        np.testing.assert_allclose((np.sign(np.round(x - 0.5, 3)), np.sign(np.round(y - 0.5, 3))), (dx, dy))


def test_who_has_left_is_a_faint_ring_or_not_drawn() -> None:
    taggers, runners = np.empty((0, 2)), np.array([[5.0, 5.0], [-1.0, -1.0], [15.0, 15.0]])
    image = render_board(taggers, runners, 20.0, out=np.array([True, True, False]))
    np.testing.assert_allclose(middle_of(image, FADED), (0.25, 0.25), atol=0.003)
    np.testing.assert_allclose(middle_of(image, RUNNER), (0.75, 0.75), atol=0.003)


def test_the_text_and_the_count_stand_above_the_board() -> None:
    places = np.array([[5.0, 5.0], [15.0, 15.0]])
    blank, labelled, fewer = (
        render_board(places, places, 20.0, text=text, out=np.array([False, out]))
        for text, out in (("", False), ("STEP 7", False), ("", True))
    )
    assert (blank[:MARGIN, : BOARD // 2] != labelled[:MARGIN, : BOARD // 2]).any() and (
        blank[MARGIN + HEADER :] == labelled[MARGIN + HEADER :]
    ).all()
    assert (blank[: MARGIN + HEADER, BOARD // 2 :] != fewer[: MARGIN + HEADER, BOARD // 2 :]).any()
