"""The figure of a population."""

import pytest

from worldloom.view import Panel, draw_population


@pytest.mark.parametrize("name", ["figure.svg", "figure.png"])
def test_it_is_drawn(tmp_path, name):
    pytest.importorskip("matplotlib")
    panels = [
        Panel("return", [[(100, 1.0), (200, 3.0)], []]),
        Panel("learning_rate", [[(100, 1e-3), (200, 1e-2)], [(100, 1e-4)]], log=True),
        Panel("schedule", [[(100, 0), (200, 1)], [(100, 1)]], labels=["constant", "linear"]),
    ]
    draw_population(panels, tmp_path / name, "title")
    assert (tmp_path / name).stat().st_size > 3000
