"""Figures of the economy: the right series in the right panels."""

import datetime
import sys

import numpy as np
import pytest
from histories import made_history

from worldloom.core.base.errors import InputError
from worldloom.envs.covid import figures
from worldloom.envs.covid.figures import NOTICE, draw_country, draw_states

pytest.importorskip("matplotlib")


@pytest.fixture
def drawn(monkeypatch):
    """The figures that were drawn, and not written."""
    drawn_figures = []
    monkeypatch.setattr(figures, "save_figure", lambda figure, target: drawn_figures.append(figure))
    return drawn_figures


@pytest.mark.parametrize(("name", "magic"), [("country.png", b"\x89PNG"), ("country.svg", b"<?xml")])
def test_the_country_is_drawn_in_the_format_of_the_file(tmp_path, name, magic):
    draw_country([made_history()], tmp_path / "new" / name)
    assert (tmp_path / "new" / name).read_bytes().startswith(magic)


def test_the_country_over_time(tmp_path, drawn):
    strict, free = made_history("strict", level=8.0), made_history("free", level=2.0, length=3)
    draw_country([strict, free], tmp_path / "country.png", "Two policies")
    figure = drawn[0]
    stringency, infections, deaths, unemployment, productivity, subsidies = figure.axes
    assert [list(line.get_ydata()) for line in stringency.lines] == [[8.0] * 5, [2.0] * 3]
    assert stringency.lines[0].get_xdata()[0] == datetime.date(2020, 3, 23)
    np.testing.assert_allclose(infections.lines[0].get_ydata(), (300.0 * np.arange(1, 6) + 3.0) / 6e4 * 100.0)
    np.testing.assert_allclose(deaths.lines[1].get_ydata()[-1], 903.0 / 6e4 * 1e5)
    np.testing.assert_allclose(unemployment.lines[1].get_ydata()[0], 303.0 / 6e4 * 100.0)
    np.testing.assert_allclose(productivity.lines[0].get_ydata()[0], (303.0 - 60.0) / 6e4)
    assert list(subsidies.lines[0].get_ydata()) == pytest.approx([6e-8, 12e-8, 18e-8, 24e-8, 30e-8])
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["strict", "free"]
    assert figure.get_suptitle() == "Two policies" and figure.get_supxlabel() == NOTICE
    assert all(axes.get_title() for axes in figure.axes)


def test_every_state_has_a_panel(tmp_path, drawn):
    history = made_history(n=11)
    draw_states([history], "infections", tmp_path / "states.png", "Made")
    panels = [axes for axes in drawn[0].axes if axes.lines]
    assert [axes.get_title() for axes in panels] == list(history.postal)
    np.testing.assert_allclose(
        panels[10].lines[0].get_ydata(), history.infected[:, 10] / history.population[10] * 100.0
    )
    assert drawn[0].get_suptitle() == "Made: infected, % of the people"


def test_chosen_states_alone(tmp_path, drawn):
    chosen = made_history().of_states(["ac", "State 0"])
    assert (chosen.postal, list(chosen.population)) == (("AC", "AA"), [3e4, 1e4])
    draw_states([chosen], "unemployment", tmp_path / "states.png")
    assert [axes.get_title() for axes in drawn[0].axes if axes.lines] == ["State 2", "State 0"]


def test_what_cannot_be_drawn_is_refused(tmp_path, monkeypatch):
    history = made_history()
    with pytest.raises(
        InputError, match="there is no quantity 'subsidies' that states have: there are stringency, infections"
    ):
        draw_states([history], "subsidies", tmp_path / "x.png")
    with pytest.raises(InputError, match="different states"):
        draw_states([history, history.of_states(["AA"])], "deaths", tmp_path / "x.png")
    with pytest.raises(InputError, match="nothing to draw"):
        draw_country([], tmp_path / "x.png")
    with pytest.raises(InputError, match="no state 'ZZ': there are AA, AB, AC"):
        history.of_states(["AA", "ZZ"])
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(InputError, match="a figure of the economy needs matplotlib"):
        draw_country([history], tmp_path / "x.png")
