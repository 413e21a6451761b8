"""Parallel coordinates: heights, ticks and files."""

import pytest

from worldloom.view import Axis, draw_parallel_coordinates


def test_heights_of_numbers_and_choices():
    assert Axis("x", [2.0, 4.0, 3.0]).heights() == [0.0, 1.0, 0.5]
    assert Axis("x", [1e-4, 1e-2, 1e-3], log=True).heights() == pytest.approx([0.0, 1.0, 0.5])
    assert Axis("x", [[8], [8, 8]], labels=["8", "8x8"], choices=([8], [8, 8])).heights() == [0.0, 1.0]
    assert Axis("x", [3.0, 3.0]).heights() == [0.5, 0.5], "one number is in the middle"


def test_ticks():
    assert [text for _, text in Axis("x", [1e-4, 1.0], log=True).ticks()] == ["0.0001", "0.001", "0.01", "0.1", "1"]
    assert Axis("x", ["a"], labels=["a", "b"], choices=("a", "b")).ticks() == [(0.0, "a"), (1.0, "b")]


@pytest.mark.parametrize("name", ["figure.svg", "figure.png"])
def test_it_is_drawn(tmp_path, name):
    pytest.importorskip("matplotlib")
    axes = [Axis("rate", [1e-3, 1e-2], log=True), Axis("return", [10.0, 20.0])]
    draw_parallel_coordinates(axes, tmp_path / name, "title", [True, False], 1)
    assert (tmp_path / name).stat().st_size > 3000


def test_without_items_it_says_so(tmp_path):
    pytest.importorskip("matplotlib")
    draw_parallel_coordinates([Axis("rate", []), Axis("return", [])], tmp_path / "figure.svg", "title")
    assert (tmp_path / "figure.svg").is_file()
