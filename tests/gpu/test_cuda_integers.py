"""Conditions that change in their branch, overflow and order-free updates on CUDA: the other devices' result."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import worldloom as wl
from worldloom.core.tools.compare import compare

sys.path.insert(0, str(Path(__file__).parents[1] / "core" / "frontend"))

import test_accumulate
import test_conditions
from test_integer_overflow import check_every_operation


@pytest.mark.parametrize("how", [{}, {"fuse": False}, {"exact": True}], ids=["fused", "unfused", "exact"])
def test_every_operation_has_one_result(how: dict) -> None:
    check_every_operation({"device": "cuda:0", **how})


@pytest.mark.parametrize("exact", [False, True])
def test_conditions_that_change_in_their_branch(exact: bool) -> None:
    for rule in (*test_conditions.RULES, test_conditions.of_world):
        definition = wl.Definition(
            "Conditions-v0",
            world=test_conditions.Field,
            entities={test_conditions.Ball: 1, test_conditions.Wall: 2},
            step=[rule],
        )
        assert compare(definition, ("cpu", "cuda:0"), num_worlds=4, steps=2, exact=exact) is None, rule.name


@pytest.mark.parametrize("exact", [False, True])
def test_order_free_updates(exact: bool) -> None:
    rules = [test_accumulate.extremes, test_accumulate.bits, test_accumulate.give_and_take]
    definition = wl.Definition(
        "Accumulate-v0", world=test_accumulate.Field, entities={test_accumulate.Ball: 3}, step=rules
    )
    assert compare(definition, ("cpu", "cuda:0"), num_worlds=64, steps=3, exact=exact) is None
