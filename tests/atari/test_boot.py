"""The boot: inputs until a game has started."""

import pytest

from worldloom.atari.emulator.inputs import BEGIN, RESET, SELECT
from worldloom.atari.env.boot import boot, boot_variant, counted_boot_frames, select_mode
from worldloom.atari.games.game_table import GAMES, find_game
from worldloom.atari.games.multiplayer import MULTIPLAYER_VARIANTS, find_variant
from worldloom.core.base.errors import InputError

FIRST = [0] * 60 + [RESET] * 4


@pytest.mark.parametrize("game", GAMES, ids=lambda game: game.name)
def test_every_mode_has_its_way(game):
    programs = [boot(game, mode, difficulty) for mode in game.modes for difficulty in game.difficulties]
    for program in programs:
        assert program[:64] == FIRST and program[64] & BEGIN
        assert sum(pressed & BEGIN != 0 for pressed in program) == 1
    assert (
        len(game.modes) == 1
        or len({tuple(select_mode(game, mode)) for mode in game.modes})
        >= len(game.modes) - (game.name == "video_cube") * 3
    )


def test_a_game_with_one_mode_is_reset_twice():
    assert boot(find_game("kaboom"), 0) == [*FIRST, RESET + BEGIN, *[RESET] * 3, 1]


def test_select_is_held_and_let_go_once_for_each_press():
    assert select_mode(find_game("freeway"), 2) == [SELECT, 0] * 2 + [RESET] * 4
    assert select_mode(find_game("berzerk"), 2) == [0] * 20 + [SELECT, SELECT, 0] * 8 + [RESET] * 4
    assert select_mode(find_game("gopher"), 0) == [RESET] * 8


def test_a_right_switch_at_a_shortens_the_way():
    cube = find_game("tic_tac_toe_3d")
    assert [counted_boot_frames(cube, 1, difficulty) for difficulty in (0, 2)] == [12, 1]


def test_frames_count_in_which_no_switch_is_pressed():
    assert [counted_boot_frames(find_game("double_dunk"), mode) for mode in (0, 1, 15)] == [13, 15, 21]
    assert [counted_boot_frames(find_game("video_cube"), mode) for mode in (0, 1, 102, 200, 5002)] == [
        0,
        11,
        44,
        15,
        827,
    ]
    assert counted_boot_frames(find_game("name_this_game"), 8) == 134


def test_a_rom_that_nobody_knows_is_reset_and_no_more():
    assert boot(None, 0) == [*FIRST, RESET + BEGIN, *[RESET] * 3]


def test_a_mode_that_is_not_there_is_told():
    with pytest.raises(InputError, match="bowling has no mode 1: choose one of 0, 2, 4"):
        boot(find_game("bowling"), 1)


def test_duels_are_variants_of_their_games():
    assert boot_variant(find_variant("pong")) == [
        *FIRST,
        SELECT + BEGIN,
        SELECT,
        0,
        *[SELECT, SELECT, 0] * 2,
        *[RESET] * 8,
    ]
    assert boot_variant(find_variant("double_dunk")) != boot(find_game("double_dunk"), 0)
    assert all(boot_variant(variant)[:64] == FIRST for variant in MULTIPLAYER_VARIANTS.values())
