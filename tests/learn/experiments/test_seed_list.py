"""Lists of seeds as text."""

import pytest

from worldloom.core.base.errors import InputError
from worldloom.learn.experiments.seed_list import format_seeds, parse_seeds


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("0:5", (0, 1, 2, 3, 4)),
        ("3", (3,)),
        ("3,7", (3, 7)),
        ("0:2, 10:12,5", (0, 1, 10, 11, 5)),
        ("0:1", (0,)),
        (f"{2**64 - 2}:{2**64}", (2**64 - 2, 2**64 - 1)),
    ],
)
def test_seeds_are_read_and_written(text, seeds):
    assert parse_seeds(text) == seeds
    assert parse_seeds(format_seeds(seeds)) == seeds


def test_seeds_have_64_bits():
    assert parse_seeds(f"7,{2**64 - 2}:{2**64}") == (7, 2**64 - 2, 2**64 - 1)


def test_ranges_are_joined():
    assert format_seeds((0, 1, 2, 7, 9, 10)) == "0:3,7,9:11"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("five", "a list such as 0:5"),
        ("0:5:2", "a list such as 0:5"),
        ("-1", "a list such as 0:5"),
        ("1,", "a list such as 0:5"),
        ("5:5", "holds no seed"),
        ("0:3,2", "names a seed twice"),
        ("0:1000000000", "are more than 1,000"),
        ("18446744073709551616", "at most 2"),
    ],
)
def test_other_texts_are_refused(text, message):
    with pytest.raises(InputError, match=message):
        parse_seeds(text)
