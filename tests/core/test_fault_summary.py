"""What went wrong in single worlds, in numbers and words."""

from __future__ import annotations

import pytest

import worldloom as wl
from worldloom.core.runtime import fault_summary
from worldloom.core.runtime.fault_summary import FaultSummary

pytestmark = pytest.mark.usefixtures("quick_compilation")


class Spark(wl.Entity):
    heat: float


class Shed(wl.World):
    pass


@wl.system
def burn(world: Shed):
    world.spawn(Spark, heat=1.0)
    if world.step == 2:
        world.fail("the lamp went out")


SHED = wl.Definition("Shed-test", Shed, {Spark: wl.UpTo(1, overflow="drop")}, step=(burn,))


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_everything_is_counted_once(device: str) -> None:
    with wl.Simulation(SHED, 300, device, seed=0, threads=1) as sim:
        for _ in range(7):
            sim.step()
        if device == "cpu":
            assert sim.faults_lost == 0 and fault_summary.fault_count(sim).tolist() == [600.0]
        found = fault_summary.read([sim])
        assert (found.faults, found.dropped) == (600, {"Spark": 1200})
        assert found.first_fault is not None and found.first_fault.startswith(
            "world 0, episode 0, step 2: the lamp went out"
        )
        assert fault_summary.read([sim]).faults == 0
        if device == "cpu":
            assert sim.faults_lost == 600 - 256 and fault_summary.fault_count(sim).tolist() == [600.0], (
                "also what has been read"
            )


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_a_simulation_can_replace_texts(device: str) -> None:
    with wl.Simulation(SHED, 1, device, seed=0) as sim:
        sim.fault_texts["went out"] = "needs oil"
        for _ in range(3):
            sim.step()
        assert any("the lamp needs oil (" in fault.message for fault in sim.errors())


def test_several_are_added_up_and_put_into_words() -> None:
    assert FaultSummary().lines() == []
    assert FaultSummary(1, "it broke").lines() == [
        "1 fault cut an episode short; the first: it broke. See docs/debug.md."
    ]
    found = fault_summary.merge_summaries(
        [
            FaultSummary(),
            FaultSummary(1000, "it broke", {"Ball": 2}),
            FaultSummary(500, "and that", {"Ball": 3, "Cat": 1}),
        ]
    )
    assert found == FaultSummary(1500, "it broke", {"Ball": 5, "Cat": 1})
    faults, dropped = found.lines()
    assert faults.startswith("1,500 faults cut episodes short; the first: it broke.")
    assert dropped.startswith("5 Ball and 1 Cat did not fit and were dropped: raise wl.UpTo for Ball and Cat")
