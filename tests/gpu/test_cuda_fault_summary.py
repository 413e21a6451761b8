"""Faults on CUDA are counted on the device, and reported at the end."""

from __future__ import annotations

import sys
from pathlib import Path

import worldloom as wl
from worldloom.core.runtime import fault_summary

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))

from test_fault_summary import SHED


def test_everything_is_counted_once() -> None:
    with wl.Simulation(SHED, 300, "cuda:0", seed=0) as sim:
        for _ in range(7):
            sim.step()
        count = fault_summary.fault_count(sim)
        assert count.is_cuda and count.tolist() == [600.0]
        found = fault_summary.read([sim])
        assert (found.faults, found.dropped) == (600, {"Spark": 1200})
        assert found.first_fault is not None and "episode 0, step 2: the lamp went out" in found.first_fault
        assert fault_summary.fault_count(sim).tolist() == [600.0] and fault_summary.read([sim]).faults == 0
