"""Faults of robots on CUDA: one sentence each, and the other worlds go on."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import worldloom as wl

pytest.importorskip("mujoco_warp")
sys.path.insert(0, str(Path(__file__).parents[1] / "robots"))

import test_robot_faults as faults


@pytest.mark.parametrize("cause", faults.CAUSES)
def test_a_fault_of_one_world_is_its_own(cause: str) -> None:
    spoil, sentences = faults.CAUSES[cause]
    pair = [
        wl.Simulation(faults.PILES, num_worlds=faults.NUM_WORLDS, device="cuda:0", seed=0, checks=False)
        for _ in range(2)
    ]
    action = np.full((faults.NUM_WORLDS, 1, 1), 0.5, np.float32)
    for step in range(8):
        if step == 3:
            spoil(pair[0])
        for simulation in pair:
            simulation.step(action)
        if step == 3:
            found = pair[0].errors()
            assert [fault.world for fault in found] == [faults.FAULTY]
            assert sentences["warp"] in str(found[0])
    spoiled, sound = (faults.states(simulation) for simulation in pair)
    assert np.isfinite(spoiled).all()
    np.testing.assert_allclose(spoiled[[0, 2]], sound[[0, 2]], atol=1e-4)
    assert not pair[0].errors() and not pair[1].errors()


def test_worlds_too_many_for_the_memory() -> None:
    physics = faults.robots.Physics(faults.MODEL, faults.Pile, sizes=faults.robots.Sizes(10**6, 10**4))
    definition = wl.Definition(
        "CudaPiles-v0", faults.Yard, {faults.Pile: 1}, step=(faults.drive, *physics.step), cuda_float32=True
    )
    with pytest.raises(wl.InputError, match=r"GiB of memory on cuda:0, and .* available: use fewer worlds"):
        wl.Simulation(definition, num_worlds=4000, device="cuda:0", seed=0)
