"""Settings made in Python: words and numbers that they may not hold."""

import dataclasses
import math
import typing

import pytest

from worldloom.core.errors import InputError
from worldloom.learn.algorithms import ALGORITHMS
from worldloom.learn.policy_config import PolicyConfig

KINDS = [*(kind for _, kind in ALGORITHMS.values()), PolicyConfig]


@pytest.mark.parametrize("kind", KINDS)
def test_every_word_and_number_is_checked(kind):
    hints = typing.get_type_hints(kind)
    words = [f.name for f in dataclasses.fields(kind) if typing.get_origin(hints[f.name]) is typing.Literal]
    reals = [f.name for f in dataclasses.fields(kind) if hints[f.name] is float]
    assert words and reals
    for name in words:
        for wrong in ("bogus", None, ["constant"], 3):
            with pytest.raises(InputError, match=f"^{name} must be one of "):
                kind(**{name: wrong})
        for word in typing.get_args(hints[name]):
            if (name, word) != ("schedule", "kl"):  # which only some have
                kind(**{name: word})
    for name in reals:
        for wrong in (math.nan, math.inf, -math.inf, "0.5", None, True):
            with pytest.raises(InputError, match=f"^{name} must be a finite number, not "):
                kind(**{name: wrong})


def test_whole_numbers_are_real_ones():
    assert ALGORITHMS["ppo"][1](gamma=1).gamma == 1
