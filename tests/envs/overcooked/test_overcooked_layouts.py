"""Layouts of Overcooked: every name, text in two formats, and a sentence for what is wrong in a text."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import worldloom as wl
from worldloom.envs.overcooked.catalogue import CLASSIC, find_layout, layout_names, named_layout
from worldloom.envs.overcooked.layout import parse_layout
from worldloom.envs.overcooked.recipes import INFINITE_BONUS, recipe_index
from worldloom.envs.overcooked.tables import FLOOR, POT, Size, layout_tables, size_of

GRID = "XXPXX|O  2O|X1  X|XDXSX"
ORDERS = '"start_all_orders": [{"ingredients": ["onion", "onion", "onion"]}, {"ingredients": ["tomato"]}]'


def text_of(grid: str = GRID, entries: str = "") -> str:
    rows = grid.replace("|", "\n                ")
    return f'{{"grid": """{rows}""", {entries}}}'


def test_all_layouts_of_the_package() -> None:
    assert len(layout_names()) == 45 and set(CLASSIC) < set(layout_names())
    assert sorted({len(named_layout(name).starts) for name in layout_names()}) == [1, 2, 4]
    room = named_layout("cramped_room")
    assert (room.width, room.height, room.starts) == (5, 4, ((1, 2), (3, 1)))
    assert room.menu.rewards[recipe_index("ooo")] == 20.0 and sum(room.menu.rewards) == 20.0
    assert set(room.menu.times) == {0, 20}


def test_they_are_those_of_the_packages_files() -> None:
    package = importlib.util.find_spec("overcooked_ai_py")
    if package is None:
        pytest.skip("overcooked-ai is not here: pip install --no-deps overcooked-ai==1.1.0")
    files = sorted((Path(package.submodule_search_locations[0]) / "data" / "layouts").glob("*.layout"))
    assert [file.stem for file in files] == list(layout_names())
    for file in files:
        assert parse_layout(file.read_text(), file.stem) == named_layout(file.stem)


def test_values_times_and_bonus() -> None:
    menu = named_layout("cramped_room_tomato").menu
    assert menu.rewards[recipe_index("ooo")] == 45.0 and menu.rewards[recipe_index("ot")] == 50.0
    assert menu.rewards[recipe_index("oot")] == 0.0, "nobody ordered it"
    assert menu.times[recipe_index("ott")] == 30
    menu = named_layout("simple_o").menu
    assert (menu.times[recipe_index("ooo")], menu.times[recipe_index("o")]) == (5, 20)
    assert named_layout("tutorial_3").menu.rewards[recipe_index("ott")] == 47.0 * INFINITE_BONUS
    assert len(named_layout("tutorial_2").menu.orders) == 9, "no orders are all orders"


def test_a_prescribed_start() -> None:
    layout = named_layout("tutorial_1")
    assert layout.starts == ((4, 3), (4, 1)) and layout.start_state.facing == (3, 0)
    assert layout.start_state.in_pots == (((2, 2), "oo", -1),)


def test_rows_and_files(tmp_path: Path) -> None:
    rows = parse_layout(GRID.replace("|", "\n"))
    assert rows.rows == named_layout("cramped_room").rows and len(rows.menu.orders) == 9
    file = tmp_path / "mine.layout"
    file.write_text(text_of(entries=ORDERS + ', "cook_time": 7, "delivery_reward": 3'))
    layout = find_layout(str(file))
    assert layout.name == "mine" and layout.menu.orders == ("t", "ooo")
    assert layout.menu.rewards[recipe_index("t")] == 3.0 and layout.menu.times[recipe_index("tt")] == 7
    assert find_layout(GRID).starts == layout.starts


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "its grid is empty"),
        (" \n ", "its grid is empty: give it one line per row"),
        ("XXX\nXX", "row 2 has 2 cells and row 1 has 3: give all rows one length"),
        ("XQX", r"row 1 has the unknown cell 'Q'; cells are X, O, T, D, S, P"),
        ("XPX\nX1S\nXDX\nX X", "row 4, column 2 is floor at the edge: close it with a counter"),
        (GRID.replace("1", " ").replace("2", " "), "its players are none: number them from 1"),
        (GRID.replace("2", "1"), "its players are 1, 1: number them from 1, each digit once"),
        (GRID.replace("2", "3"), "its players are 1, 3: number them from 1"),
        (GRID.replace("D", "X"), "it has no dish dispenser D: add at least one"),
        (GRID.replace("O", "X"), "it has no O or T: add at least one"),
        ("X" * 16 + ("\n" + "X" * 16) * 15, "it has 16 x 16 cells; at most 255 cells are supported"),
        ("{", "its text is no dictionary of literals"),
        (
            "{'grid': __import__('os').getcwd()}",
            r"line 1 has '__import__\('os'\)\.getcwd\(\)'; a layout is a dictionary",
        ),
        ("{'grid': 3}", "it has no grid: add 'grid' with one line per row"),
        (text_of(entries='"colour": 3'), "it has the unknown entry 'colour'; known are"),
        (text_of(entries='"start_all_orders": 3'), "start_all_orders must be a list, not 3"),
        (text_of(entries='"start_all_orders": ["ooo"]'), "an order is written as {'ingredients': "),
        (
            text_of(entries='"start_all_orders": [{"ingredients": ["leek"]}]'),
            "the ingredient 'leek' is unknown; ingredients are onion and tomato",
        ),
        (
            text_of(entries='"start_all_orders": [{"ingredients": ["onion"] * 4}]'),
            r"line 4 has '\['onion'\] \* 4'; a layout is a dictionary of numbers",
        ),
        (
            text_of(entries='"start_all_orders": [{"ingredients": ["onion"]}, {"ingredients": ["onion"]}]'),
            "start_all_orders has the order 'o' twice: list it once",
        ),
        (
            text_of(entries=ORDERS + ', "start_bonus_orders": [{"ingredients": ["onion"]}]'),
            "the bonus order 'o' is not among start_all_orders: add it there",
        ),
        (text_of(entries='"onion_value": 3'), "give both onion_value and tomato_value, or neither"),
        (text_of(entries='"cook_time": 3, "recipe_times": []'), "give either cook_time or recipe_times, not both"),
        (text_of(entries=ORDERS + ', "recipe_values": [1]'), "recipe_values must have one number for each of the 2"),
        (text_of(entries='"cook_time": 2.5'), "the cook time of 'o' must be a whole number from 1 to 32,767, not 2.5"),
        (text_of(entries='"delivery_reward": float("inf")'), "delivery_reward must be finite"),
        (text_of(entries='"order_bonus": "much"'), "order_bonus must be a number, not 'much'"),
        (text_of(entries='"rew_shaping_params": {"SOUP": 1}'), "rew_shaping_params has no 'SOUP'; it has PLACEMENT"),
        (text_of(entries='"rew_shaping_params": {"SOUP_PICKUP_REWARD": 1}'), "lacks PLACEMENT_IN_POT_REW: give all of"),
        (text_of(entries='"start_state": 3'), "start_state must be a dictionary with a list of players"),
        (text_of(entries='"start_state": {"players": []}'), "start_state has 0 players and the grid has 2"),
        ("x" * 100_001, "its text has 100,001 characters; at most 100,000 are read"),
    ],
)
def test_what_is_wrong_in_a_text(text: str, message: str) -> None:
    with pytest.raises(wl.InputError, match=message):
        parse_layout(text.replace("|", "\n"), "mine")


@pytest.mark.parametrize(
    ("player", "message"),
    [
        ("[0, 0]", r"a player at \(0, 0\), which is no free floor"),
        ("[9, 0]", r"the position \[9, 0\], which is no cell of the grid"),
        ('"here"', "the position 'here', which is no cell of the grid"),
    ],
)
def test_what_is_wrong_in_a_prescribed_start(player: str, message: str) -> None:
    players = f'[{{"position": {player}, "orientation": [0, 1]}}, {{"position": [1, 1], "orientation": [0, 1]}}]'
    with pytest.raises(wl.InputError, match=message):
        parse_layout(text_of(entries=f'"start_state": {{"players": {players}}}'))


def test_objects_of_a_prescribed_start() -> None:
    players = (
        '[{"position": [1, 1], "orientation": [0, 1], "held_object": {"name": "dish"}},'
        '{"position": [2, 1], "orientation": [1, 0], "held_object": {"name": "soup", "_ingredients": '
        '[{"name": "tomato"}, {"name": "onion"}]}}]'
    )
    objects = (
        '[{"name": "onion", "position": [0, 0]}, '
        '{"name": "soup", "position": [2, 0], "_ingredients": [{"name": "onion"}], "cooking_tick": 4}]'
    )
    layout = parse_layout(text_of(entries=f'"start_state": {{"players": {players}, "objects": {objects}}}'))
    row = {name: value[0] for name, value in layout_tables([layout], size_of([layout]), targets=False).items()}
    assert row["start_cells"].tolist() == [5, 9] and row["start_facing"].tolist() == [1, 2]
    assert row["start_held"].tolist() == [3, 16 + 5] and row["start_objects"][0] == 1
    assert (row["start_soups"].tolist(), row["start_ticks"].tolist()) == ([4], [4])


def test_tables_of_a_larger_size() -> None:
    tables = layout_tables([named_layout("cramped_room")], Size(7, 6, 4, 3), targets=True)
    terrain = tables["terrain"][0].reshape(7, 6)
    assert (terrain[5:] == 0).all() and (terrain[:, 4:] == 0).all() and terrain[2, 0] == POT
    assert [divmod(int(cell), 6) for cell in tables["start_cells"][0]] == [(1, 2), (3, 1), (1, 1), (2, 1)]
    assert all(terrain[divmod(int(cell), 6)] == FLOOR for cell in tables["start_cells"][0])
    pots = tables["nearest_cells"][0].reshape(7, 6, 4, 6)[1, 1, 0, 4:]
    np.testing.assert_array_equal(pots, [12, 255])
