"""Random actions within the spaces of agents, and within their action masks."""

from __future__ import annotations

import numpy as np

import worldloom as wl
from worldloom.core.measure.random_actions import random_action, random_actions


def test_forbidden_choices_are_replaced_by_allowed_ones() -> None:
    sim, rng = wl.Simulation("Taxi-v4", 200, "python", seed=0), np.random.default_rng(3)
    mask = sim["Cab"]["action_mask"].numpy() != 0
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
    sim["Cab"]["action_mask"].fill(0)
    (actions,) = random_actions(sim, np.random.default_rng(3)).values()
    np.testing.assert_array_equal(actions, random_action(wl.Discrete(6), actions.shape, np.random.default_rng(3)))


class Robot(wl.Entity):
    turn: wl.Action(wl.Discrete(3))
    arms: wl.Action(wl.MultiDiscrete(2, 4))
    action_mask: wl.Observation(9, dtype=bool)


class Hall(wl.World):
    pass


@wl.system
def forbid(robot: Robot):
    """Only turn 2, arms 1 and 0 or 3."""
    for choice in range(9):
        robot.action_mask[choice] = choice == 2 or choice == 4 or choice == 5 or choice == 8


def test_one_mask_of_several_actions() -> None:
    world = wl.register("Hall-masks", world=Hall, entities={Robot: 3}, observe=[forbid])
    actions = random_actions(wl.Simulation(world, 50, "python", seed=0), np.random.default_rng(0))
    assert (actions["Robot.turn"] == 2).all() and (actions["Robot.arms"][..., 0] == 1).all()
    assert set(actions["Robot.arms"][..., 1].ravel().tolist()) == {0, 3}
