"""Settings made in Python: words and numbers that they may not hold."""

import dataclasses
import math
import typing

import pytest

from worldloom.core.base.errors import InputError
from worldloom.learn.algorithms.registry import ALGORITHMS
from worldloom.learn.config.policy_config import PolicyConfig

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


@pytest.mark.parametrize("kind", KINDS)
def test_every_whole_number_and_switch_is_checked(kind):
    hints = typing.get_type_hints(kind)
    for name in (f.name for f in dataclasses.fields(kind) if hints[f.name] is int):
        for wrong in (math.nan, 2.5, "3", None, True, 10**20, -(10**20), 10**400):
            with pytest.raises(InputError, match=f"^{name} must be a whole number of at most "):
                kind(**{name: wrong})
    for name in (f.name for f in dataclasses.fields(kind) if hints[f.name] is bool):
        for wrong in ("yes", 1, None, math.nan):
            with pytest.raises(InputError, match=f"^{name} must be True or False, not "):
                kind(**{name: wrong})


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_numbers_that_make_no_sense_are_refused(algorithm):
    kind = ALGORITHMS[algorithm][1]
    names = {f.name for f in dataclasses.fields(kind)}
    for name in {
        "learning_rate",
        "max_gradient_norm",
        "value_weight",
        "gamma",
        "lam",
        "clip",
        "rho_clip",
        "tau",
        "huber",
    } & names:
        with pytest.raises(InputError, match=f"^{name} must "):
            kind(**{name: -0.5})
        with pytest.raises(InputError, match=f"^{name} must be a finite number"):
            kind(**{name: 10**400})
    with pytest.raises(InputError, match=r"^device must be text, not 3"):
        kind(device=3)


@pytest.mark.parametrize("hidden", [(10**400,), (2**31,), (64,) * 1001, (64, True), 64, (), (1e9, 1e9)])
def test_layers_that_cannot_be_are_refused(hidden):
    with pytest.raises(InputError, match=r"^hidden must hold the units of one layer or more"):
        PolicyConfig(hidden=hidden)


def test_whole_numbers_are_real_ones():
    assert ALGORITHMS["ppo"][1](gamma=1).gamma == 1
