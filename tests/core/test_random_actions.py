"""Random actions within the spaces of agents, and within their action masks."""

from __future__ import annotations

import numpy as np

import worldloom as wl
from worldloom.core.measure.random_actions import MASK, random_action, random_actions


def test_forbidden_choices_are_replaced_by_allowed_ones() -> None:
    sim, rng = wl.Simulation("Taxi-v4", 200, "python", seed=0), np.random.default_rng(3)
    mask = sim["Cab"][MASK].numpy() != 0
    assert not mask.all()
    (actions,) = random_actions(sim, rng).values()
    assert np.take_along_axis(mask, actions[..., None], axis=-1).all()
    assert set(actions.ravel().tolist()) >= {0, 1, 2, 3}, "every direction is drawn somewhere"
    drawn = random_action(wl.Discrete(6), actions.shape, np.random.default_rng(3))
    was_allowed = np.take_along_axis(mask, drawn[..., None], axis=-1)[..., 0]
    assert 0 < was_allowed.sum() < was_allowed.size
    np.testing.assert_array_equal(actions[was_allowed], drawn[was_allowed])


def test_a_mask_that_allows_nothing_is_ignored() -> None:
    sim = wl.Simulation("Taxi-v4", 5, "python", seed=0)
    sim["Cab"][MASK].fill(0)
    (actions,) = random_actions(sim, np.random.default_rng(3)).values()
    np.testing.assert_array_equal(actions, random_action(wl.Discrete(6), actions.shape, np.random.default_rng(3)))
