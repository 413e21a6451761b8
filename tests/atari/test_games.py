"""The game table and its documentation page."""

from pathlib import Path

import pytest

from worldloom.atari.games.game_table import ALL_ACTIONS, GAMES, RESET, find_game, game_of_rom, read_numbers
from worldloom.atari.games.games_page import games_page, short
from worldloom.atari.games.multiplayer import MULTIPLAYER_ONLY, MULTIPLAYER_VARIANTS, find_variant
from worldloom.atari.games.reward_rules import rules
from worldloom.atari.games.reward_rules_cpp import number_of
from worldloom.core.base.errors import InputError

PAGE = Path(__file__).parents[2] / "docs" / "worlds" / "atari_games.md"


def test_there_are_104_games_and_four_for_several_players():
    assert (
        len(GAMES) == 108 and {game.name for game in GAMES} > set(MULTIPLAYER_ONLY) and len(set(MULTIPLAYER_ONLY)) == 4
    )
    assert [game.name for game in GAMES] == sorted(game.name for game in GAMES)
    for facts in ({game.id for game in GAMES}, {game.md5 for game in GAMES}):
        assert len(facts) == 108
    assert all(len(game.md5) == 32 and set(game.actions) <= set(game.legal) <= set(ALL_ACTIONS) for game in GAMES)


def test_every_game_has_a_rule_at_its_number():
    names = {game.name for game in GAMES} | {variant.rule for variant in MULTIPLAYER_VARIANTS.values()}
    assert set(rules()) == names
    assert [number_of(game.name) for game in GAMES] == [game.number for game in GAMES] == list(range(108))
    assert sorted(map(number_of, names)) == list(range(len(names)))


@pytest.mark.parametrize("name", ["ms_pacman", "MsPacman", "MsPacman-v5", "ALE/MsPacman-v5"])
def test_games_are_found_by_name_and_by_id(name):
    assert find_game(name).name == "ms_pacman"


def test_other_ways_to_write_an_id():
    assert find_game("TicTacToe3D-v5") is find_game("TicTacToe3d-v5") is find_game("tic_tac_toe_3d")
    assert game_of_rom(find_game("pong").md5) is find_game("pong")
    assert game_of_rom("0" * 32) is None


def test_a_game_that_is_not_there_is_named():
    with pytest.raises(InputError, match="there is no game 'PacManWorld-v5'; name one as 'ms_pacman' or 'MsPacman-v5'"):
        find_game("PacManWorld-v5")


def test_lists_of_numbers():
    assert read_numbers("0-2,5") == (0, 1, 2, 5)
    assert read_numbers("0*3,1,40") == (0, 0, 0, 1, 40)
    assert read_numbers("0,1+100*0-2") == (0, 1, 100, 101, 200, 201)
    assert read_numbers("-") == ()


def test_what_single_games_need():
    assert find_game("skiing").legal == (0, *range(2, 10)) and find_game("pong").legal == ALL_ACTIONS
    assert find_game("sir_lancelot").start == (RESET, 4)
    assert find_game("casino").start == (0,) * 60 + (1, 1)
    assert find_game("pong").paddles and find_game("pong").swapped_paddles and not find_game("boxing").paddles
    assert (find_game("adventure").television, find_game("adventure").height) == ("PAL", 250)
    assert (find_game("carnival").top, find_game("carnival").height) == (26, 214)
    assert find_game("time_pilot").memory == ((0, 1),)
    assert len(find_game("video_cube").modes) == 153


def test_duels_are_found_by_their_name_and_by_their_game():
    assert find_variant("combat_plane").game is find_variant("combat").game
    assert find_variant("combat").name == "combat_tank" and find_variant("Pong-v5").name == "pong"
    assert find_variant("foozpong").game is find_game("pong")
    with pytest.raises(
        InputError, match="MsPacman-v5 is for one player: leave players out; two can play BasketballPong, Boxing, "
    ) as error:
        find_variant("MsPacman-v5")
    assert (
        str(error.value).endswith(", WizardOfWor, and four Quadrapong, Warlords")
        and str(error.value).count("Warlords") == 1
    )


def test_the_page_of_games_is_as_the_tables_are():
    assert PAGE.read_text() == games_page(), (
        "generate it again: python -m worldloom.atari.games.games_page > docs/worlds/atari_games.md"
    )


def test_spans_of_numbers_are_short():
    assert short((0, 1, 2, 5, 7, 8)) == "0-2, 5, 7-8"
    assert short(tuple(range(0, 60, 4))) == "0, 4, 8, … 56"
