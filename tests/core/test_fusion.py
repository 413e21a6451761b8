"""Fusion: results are equal bit for bit with and without it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from thorough import sample

import worldloom as wl
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.registry.world_files import find
from worldloom.core.tools.compare import first_difference

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(
    "world",
    sample(["CartPole-v1", str(EXAMPLES / "write_a_world.py"), "Blackjack-v1"], 2),
    ids=lambda world: Path(world).stem,
)
def test_the_same_bits_with_and_without(world: str) -> None:
    made = find(world)
    fused, separate = (wl.Simulation(made, 20, "cpu", seed=3, fuse=fuse) for fuse in (True, False))
    assert len(fused.program.step) < len(separate.program.step)
    generator = np.random.default_rng(0)
    for step in range(250):
        actions = random_actions(fused, generator)
        for sim in (fused, separate):
            sim.step(actions)
        difference = first_difference(separate, fused, step)
        assert difference is None, str(difference)
    assert fused.world.episode.numpy().min() > 0, "every world was reset"
