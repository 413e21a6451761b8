"""What went wrong in single worlds, in numbers and words."""

from __future__ import annotations

import pytest

import worldloom as wl
from worldloom.core import mishaps
from worldloom.core.mishaps import Mishaps


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
            assert sim.faults_lost == 0 and mishaps.fault_count(sim).tolist() == [600.0]
        found = mishaps.read([sim])
        assert (found.faults, found.dropped) == (600, {"Spark": 1200})
        assert found.first_fault is not None and found.first_fault.startswith("world 0, episode 0, step 2: the lamp went out")
        assert mishaps.read([sim]).faults == 0
        if device == "cpu":
            assert sim.faults_lost == 600 - 256 and mishaps.fault_count(sim).tolist() == [600.0], "also what has been read"


def test_several_are_added_up_and_put_into_words() -> None:
    assert Mishaps().lines() == []
    assert Mishaps(1, "it broke").lines() == ["1 fault cut an episode short; the first: it broke. docs/debug.md says how to look into them."]
    found = mishaps.together([Mishaps(), Mishaps(1000, "it broke", {"Ball": 2}), Mishaps(500, "and that", {"Ball": 3, "Cat": 1})])
    assert found == Mishaps(1500, "it broke", {"Ball": 5, "Cat": 1})
    faults, dropped = found.lines()
    assert faults.startswith("1,500 faults cut episodes short; the first: it broke.")
    assert dropped.startswith("5 Ball and 1 Cat did not fit and were dropped: raise wl.UpTo for Ball and Cat")
