"""Launches that do not fit a world, or that break their declarations, are refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from launch_worlds import OF_LAUNCHES, Cell, Kernel, Note, Tank, churn_kernel, fill

import worldloom as wl
from worldloom.core.tools.compare import compare

Columns = Callable[[wl.Simulation], dict[str, np.ndarray]]


class Wrong(wl.Launch):
    def __init__(self, **named: object) -> None:
        self.__dict__.update(named)


class Other(wl.Entity):
    x: float


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (Wrong(reads={Cell: ("stok",)}), "Wrong reads 'stok' of Cell, which has no such component"),
        (Wrong(writes={Tank: ("speed",)}, label="Spin"), "Spin writes 'speed' of Tank, which has no such component"),
        (Wrong(reads={Other: ("x",)}), "Wrong reads components of Other, which it does not have"),
        (Wrong(reads={"Cell": ("stock",)}), "Wrong reads components of 'Cell', which it does not have"),
        (Wrong(reads={Cell: "stock"}), "'reads' of Wrong names 'stock' of Cell, which is no list"),
        (Wrong(writes=(Cell, "stock")), "'writes' of Wrong is no mapping"),
        (Wrong(writes={Tank: ("rate",)}), "Wrong writes 'rate' of Tank, which is configuration"),
        (Wrong(writes={Tank: ("step",)}), "Wrong writes 'step' of Tank, which is the engine's own"),
        (Wrong, "'Wrong' is a class of launches and no launch"),
    ],
)
def test_launches_that_do_not_fit_are_refused(entry: object, message: str) -> None:
    with pytest.raises(wl.DefinitionError, match=message):
        wl.register("Wrong-test", world=Tank, entities={Cell: 1}, step=[entry])


@pytest.mark.parametrize("given", [0, -1, True, 2.0])
def test_how_many_worlds_make_a_thread_is_a_whole_number(given: object) -> None:
    with pytest.raises(wl.DefinitionError, match="worlds_per_thread cannot be"):
        wl.register("Wrong-test", world=Tank, entities={Cell: 1}, worlds_per_thread=given)


def interpreted(*step: object) -> wl.Simulation:
    return wl.Simulation(
        wl.Definition("Tank-test", Tank, {Cell: 2}, reset=(fill,), step=step),
        3,
        "python",
        seed=0,
        autoreset="next_step",
    )


def test_interpreted_a_launch_is_held_to_its_columns() -> None:
    sneaky = Kernel(churn_kernel, [(Tank, "rate"), (Cell, "push"), (Cell, "stock"), (Cell, "level")], ("stock",))
    with pytest.raises(
        wl.InputError, match=r"churn changes Cell\.level, which it does not say: name 'level' in its 'writes'"
    ):
        interpreted(sneaky).step()


def test_interpreted_a_launch_is_held_to_its_worlds() -> None:
    class Heedless(Kernel):
        def launch(self, prepared, shard):
            super().launch(prepared, replace(shard, mask=None))

    heedless = Heedless(
        churn_kernel, [(Tank, "rate"), (Cell, "push"), (Cell, "stock"), (Cell, "level")], ("stock", "level")
    )
    sim = interpreted(heedless)
    sim.step()
    sim.world.finished.assign(np.array([False, True, False]))
    with pytest.raises(wl.InputError, match=r"churn changes Cell\.\w+ of world 1, which it is not launched for"):
        sim.step()


def test_a_launch_that_fails_leaves_others_alone(columns: Columns) -> None:
    class Broken(Note):
        def launch(self, prepared, shard):
            raise ValueError("no such kernel")

    with pytest.raises(ValueError, match="no such kernel"):
        wl.Simulation(wl.Definition("Tank-test", Tank, {Cell: 1}, step=(Broken("broken"),)), 1, seed=0)
    with pytest.raises(NotImplementedError, match=r"Wrong has no launch\(self, prepared, shard\)"):
        wl.Simulation(wl.Definition("Tank-test", Tank, {Cell: 1}, step=(Wrong(),)), 1, seed=0)
    assert compare(OF_LAUNCHES, ("python", "cpu"), num_worlds=2, steps=2) is None
