"""Checks of the actions of several entities per world need no kernels of their own."""

from __future__ import annotations

import numpy as np
import pytest

import worldloom as wl
from worldloom.core.codegen.program import generate


class Cat(wl.Entity):
    jump: wl.Action(wl.Discrete(3))
    trail: wl.Array(int, 4)
    reward: wl.Reward


class Dog(wl.Entity):
    bark: wl.Action(wl.Box(-1.0, 1.0))
    reward: wl.Reward


class Yard(wl.World):
    pass


@wl.system
def leap(cat: Cat):
    cat.reward = float(cat.jump)


@wl.system
def growl(dog: Dog):
    dog.reward = 1.0 / dog.bark


@pytest.fixture
def yard() -> wl.Definition:
    return wl.register("YardOfTwoKinds-v0", world=Yard, entities={Cat: 2, Dog: 3}, step=[leap, growl])


def test_each_kind_has_one_kernel_for_its_checks_and_rules(yard: wl.Definition) -> None:
    schedule = wl.Simulation(yard, 1, "python", autoreset="disabled").schedule
    labels = [spec.labels for spec in generate(schedule, True, False, False).step]
    assert len(labels) == 3, labels  # cats, dogs, the world
    assert {"name_bad_actions_Cat", "leap(Cat)", "name_bad_numbers_Cat"} <= set(labels[0])
    assert {"name_bad_actions_Dog", "growl(Dog)", "name_bad_numbers_Dog"} <= set(labels[1])


@pytest.mark.parametrize("device", ["python", "cpu"])
def test_every_fault_of_several_entities_is_told(yard: wl.Definition, device: str) -> None:
    sim = wl.Simulation(yard, 3, device, autoreset="disabled")
    jump, bark = np.ones((3, 2), np.int32), np.ones((3, 3), np.float32)
    jump[0, 1], bark[1, 2], bark[2, 0] = 7, np.nan, 0.0
    sim.step({"Cat.jump": jump, "Dog.bark": bark})
    faults = sorted(str(fault) for fault in sim.errors())
    assert len(faults) == 4, faults
    assert "world 0" in faults[0] and "action Cat.jump is 7, which is not in 0 to 2" in faults[0]
    assert "world 1" in faults[1] and "action bark of Dog 2 is not a finite number" in faults[1]
    assert "world 1" in faults[2] and "reward of Dog 2 is not a finite number" in faults[2]
    assert "world 2" in faults[3] and "reward of Dog 0 is not a finite number" in faults[3]
    np.testing.assert_array_equal(sim.truncated.numpy(), True)
    sim.step({"Cat.jump": np.ones((3, 2), np.int32), "Dog.bark": np.ones((3, 3), np.float32)})
    assert sim.errors() == []
