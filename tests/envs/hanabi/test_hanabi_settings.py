"""Settings of Hanabi: sizes of moves and observations, settings in ids, and errors."""

from __future__ import annotations

import pytest

import worldloom as wl
from worldloom.envs.hanabi.family import settings_of
from worldloom.envs.hanabi.settings import Sizes


@pytest.mark.parametrize(
    ("id", "moves", "observation", "minimal"),
    [
        ("Hanabi-v0", 20, 658, 308),
        ("Hanabi-v0:players=3", 30, 956, 431),
        ("Hanabi-v0:players=4", 38, 1041, 481),
        ("Hanabi-v0:players=5", 48, 1280, 580),
        ("HanabiSmall-v0", 11, 171, 103),
        ("HanabiVerySmall-v0", 10, 106, 62),
    ],
)
def test_sizes(id: str, moves: int, observation: int, minimal: int) -> None:
    sizes = Sizes(settings_of(id))
    assert (sizes.moves, sizes.observation) == (moves, observation)
    given = id + ("," if ":" in id else ":") + "observation_type=minimal"
    assert Sizes(settings_of(given)).observation == minimal


def test_settings_in_an_id_and_as_arguments_are_the_same_world() -> None:
    assert wl.definition("Hanabi-v0:players=3") is wl.definition("Hanabi-v0", players=3)
    assert wl.definition("Hanabi-v0", players=3).id == "Hanabi-v0:players=3"
    assert wl.definition("Hanabi-v0:players=2").id == "Hanabi-v0"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("players=6", "the setting 'players' is a whole number from 2 to 5, not 6"),
        ("players=1", "the setting 'players' is a whole number from 2 to 5, not 1"),
        ("players=two", "the setting 'players' must be a whole number of 1 or more, not 'two'"),
        ("colors=6", "the setting 'colors' is a whole number from 1 to 5, not 6"),
        ("hand_size=9", "the setting 'hand_size' is a whole number from 1 to 8, not 9"),
        ("hand_size=big", "the setting 'hand_size' is a whole number from 1 to 8, not 'big'"),
        ("max_life_tokens=65", "the setting 'max_life_tokens' is a whole number from 1 to 64, not 65"),
        ("dtype=int64", "the setting 'dtype' is uint8 or float32, not 'int64'"),
        ("agents=both", "the setting 'agents' is all or current, not 'both'"),
        ("observation_type=seer", "the setting 'observation_type' is canonical or minimal, not 'seer'"),
        ("colours=3", "it has no setting 'colours'; its settings are players, colors, ranks, hand_size"),
        ("players=3,players=3", "the setting 'players' is given twice: give it once"),
        ("players", "'players' is no setting: write name=value, separated by commas"),
        ("players=5,colors=1,ranks=2", "5 hands of 4 cards need 20 cards, and 1 colors of 2 ranks have 4"),
    ],
)
def test_wrong_settings_are_one_sentence(settings: str, message: str) -> None:
    with pytest.raises(wl.InputError) as error:
        wl.definition(f"Hanabi-v0:{settings}")
    assert message in str(error.value)


def test_a_setting_twice_is_refused() -> None:
    with pytest.raises(wl.InputError, match="both in the id and an argument: give it once"):
        wl.definition("Hanabi-v0:players=3", players=4)
