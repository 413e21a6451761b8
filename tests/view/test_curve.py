"""Learning curves: their points, and atomic writes."""

import math
import sys

import pytest

from worldloom.core.base.errors import InputError
from worldloom.view import curve
from worldloom.view.curve import draw_curve, running_mean, series

ROWS = [
    {"steps": 100 * i, "seconds": 0.1 * i, "episode/return": math.nan if i < 2 else float(i), "episode/length": 2.0 * i}
    for i in range(1, 200)
]
TWO = [
    {"steps": i, "seconds": i, "episode/return/hider": i, "episode/return/seeker": None if i else -1.0}
    for i in range(3)
]


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were drawn."""
    pytest.importorskip("matplotlib")
    figures, save = [], curve.save_figure
    monkeypatch.setattr(curve, "save_figure", lambda figure, target: (figures.append(figure), save(figure, target)))
    return figures


def test_a_curve_shows_returns_and_lengths(tmp_path, drawn):
    draw_curve(ROWS, tmp_path / "new" / "curve.png", "CartPole-v1 with PPO", threshold=150.0)
    assert (tmp_path / "new" / "curve.png").read_bytes().startswith(b"\x89PNG")
    assert [p.name for p in (tmp_path / "new").iterdir()] == ["curve.png"]
    steps, seconds, length, _ = drawn[0].axes
    points, mean, solved = steps.lines
    assert list(points.get_xdata()) == [row["steps"] for row in ROWS[1:]], (
        "the row without a finished episode is left out"
    )
    assert list(points.get_ydata()) == [row["episode/return"] for row in ROWS[1:]]
    assert mean.get_ydata()[-1] == pytest.approx(197.5), "the mean of the last four"
    assert set(solved.get_ydata()) == {150.0}
    assert list(seconds.lines[0].get_xdata()) == [row["seconds"] for row in ROWS[1:]]
    assert list(length.lines[0].get_ydata()) == [row["episode/length"] for row in ROWS]
    assert [text.get_text() for text in steps.get_legend().get_texts()] == ["return", "solved at 150"]
    assert drawn[0].get_suptitle() == "CartPole-v1 with PPO"


def test_several_policies_have_a_line_each(tmp_path, drawn):
    draw_curve(TWO, tmp_path / "curve.png", "Tag")
    assert [text.get_text() for text in drawn[0].axes[0].get_legend().get_texts()] == ["hider", "seeker"]
    assert series(TWO, "episode/return", "steps") == {"hider": ([0, 1, 2], [0, 1, 2]), "seeker": ([0], [-1.0])}


def test_a_run_without_a_finished_episode_is_said_to_be_one(tmp_path, drawn):
    draw_curve([], tmp_path / "curve.png", "nothing yet")
    assert [text.get_text() for axes in drawn[0].axes for text in axes.texts] == ["no episode has ended"] * 4


def test_running_mean():
    assert running_mean([1.0, 2.0, 3.0, 6.0], 2) == [1.0, 1.5, 2.5, 4.5]
    assert running_mean([1.0, 2.0], 1) == [1.0, 2.0]


def test_what_cannot_be_drawn_is_refused(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    with pytest.raises(InputError, match=r"cannot draw .*curve.jam: "):
        draw_curve(ROWS, tmp_path / "curve.jam", "x")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"cannot draw .*curve.png: "):
        draw_curve(ROWS, tmp_path / "file" / "curve.png", "x")
    assert [p.name for p in tmp_path.iterdir()] == ["file"]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match=r"^a curve needs matplotlib: pip install 'worldloom\[view\]' adds it$"):
        draw_curve(ROWS, tmp_path / "curve.png", "x")
