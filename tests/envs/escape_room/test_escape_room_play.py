"""Escape Room can be won: a scripted pair opens the doors of every kind of room and leaves."""

from __future__ import annotations

import numpy as np
import pytest
from scripted_pair import play

import worldloom as wl
from worldloom.envs.escape_room.entities import CUBE_BLOCKING, CUBE_BUTTONS, DOUBLE_BUTTON, SINGLE_BUTTON

WORLDS = 16


@pytest.mark.parametrize(
    ("kind", "least"), [(SINGLE_BUTTON, 16), (DOUBLE_BUTTON, 16), (CUBE_BLOCKING, 13), (CUBE_BUTTONS, 2)]
)
def test_a_scripted_pair_leaves_every_kind_of_room(kind: int, least: int) -> None:
    """Cubes that lie against each other or against walls are beyond the script in some levels."""
    sim = wl.Simulation("EscapeRoom-v0", num_worlds=WORLDS, device="cpu", seed=kind)
    sim.set_config("first_room", kind)
    sim.set_config("max_steps", 300)
    sim.reset()
    assert (play(sim, 299) >= 1).sum() >= least
    assert sim.errors() == []


def test_the_three_rooms_can_be_left_within_an_episode() -> None:
    """In every fifth world, of which few would depend on how a processor rounds."""
    sim = wl.Simulation("EscapeRoom-v0", num_worlds=5 * WORLDS, device="cpu", seed=5)
    passed = play(sim, 199)
    assert (passed >= 1).all() and passed.max() == 3
    escaped = sim["Agent"].escaped.numpy()
    assert (escaped == (passed == 3)[:, None]).all() and np.isin(escaped, (0.0, 1.0)).all()
