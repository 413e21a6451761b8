"""Forks: worlds copied onto other worlds of their simulation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import worldloom as wl
import worldloom.core.simulation as simulation_module
from worldloom.core.base.errors import InputError
from worldloom.core.codegen.shared_programs import shared_schedule
from worldloom.core.measure.random_actions import random_actions
from worldloom.core.schedule.aliasing import aliased_components
from worldloom.core.schedule.entries import Schedule

pytestmark = pytest.mark.usefixtures("quick_compilation")

Columns = Callable[[wl.Simulation], dict[str, np.ndarray]]


@pytest.fixture(scope="module", params=["cpu", "python"])
def aged(request: pytest.FixtureRequest, crowd: wl.Definition) -> wl.Simulation:
    """Seven worlds that have gone different ways, one configuration per world and one for the batch."""
    config = {"reach": np.linspace(0.5, 1.0, 7, dtype=np.float32), "wind": 0.2, "max_steps": 5}
    simulation = wl.Simulation(crowd, 7, request.param, seed=np.int64(4), config=config)
    generator = np.random.default_rng(1)
    for _ in range(8):
        simulation.step(random_actions(simulation, generator))
    return simulation


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_every_column_of_every_pair_is_copied_as_if_at_once(
    aged: wl.Simulation, columns: Columns, data: st.DataObject
) -> None:
    targets = data.draw(st.lists(st.integers(0, 6), unique=True, max_size=7))
    sources = data.draw(st.lists(st.integers(0, 6), min_size=len(targets), max_size=len(targets)))
    before = columns(aged)
    aged.copy_worlds(
        sources, np.array(targets, np.int32) if data.draw(st.booleans()) else torch.tensor(targets, dtype=torch.int64)
    )
    for name, values in columns(aged).items():
        wanted = before[name].copy()
        if len(wanted) == 7:
            wanted[targets] = before[name][sources]
        np.testing.assert_array_equal(values, wanted, err_msg=name)


def test_worlds_change_places_where_components_share_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU, where the components of a cart lie in its observation."""

    def with_aliases(definition: wl.Definition, *settings: Any) -> Schedule:
        return replace(shared_schedule(definition, *settings), aliases=aliased_components(definition))

    monkeypatch.setattr(simulation_module, "shared_schedule", with_aliases)
    carts = wl.Simulation("CartPole-v1", 3, "cpu", seed=0)
    assert not carts["Cart"].angle.owns_memory
    before = carts["Cart"].angle.numpy().copy()
    carts.copy_worlds([1, 2, 0], [0, 1, 2])
    assert carts["Cart"].angle.numpy().tolist() == before[[1, 2, 0]].tolist()


def test_one_world_becomes_many(aged: wl.Simulation, columns: Columns) -> None:
    aged.copy_worlds(2, [0, 1, 5])
    after = columns(aged)
    for name, values in after.items():
        if len(values) == 7:
            for world in (0, 1, 5):
                np.testing.assert_array_equal(values[world], values[2], err_msg=name)
    assert aged.get_config("wind") == np.float32(0.2)


def test_copies_share_rules_and_past_but_not_chances(crowd: wl.Definition) -> None:
    simulation = wl.Simulation(crowd, 3, seed=5)
    simulation.copy_worlds(0, [1, 2])
    still = {"Walker.heading": np.zeros((3, 5), np.int32)}
    simulation.step(still)
    places = simulation["Walker"].place.numpy()
    assert not np.array_equal(places[0], places[1])  # the wind blows at random
    calm = wl.Simulation(crowd, 3, seed=5, config={"wind": 0.0})
    calm.copy_worlds(0, [1, 2])
    calm.step(still)
    places = calm["Walker"].place.numpy()
    np.testing.assert_array_equal(places[1:], places[:2])


def test_a_world_without_chance_goes_on_as_its_original() -> None:
    simulation = wl.Simulation("CartPole-v1", 64, seed=1, autoreset="disabled")
    simulation.copy_worlds(9, np.arange(64))
    generator = np.random.default_rng(0)
    for _ in range(30):
        simulation.step(np.broadcast_to(generator.integers(0, 2, np.int32(1)).astype(np.int32), (64, 1)))
    sight = simulation["Cart"].sight.numpy()
    np.testing.assert_array_equal(sight, np.broadcast_to(sight[:1], sight.shape))


@pytest.mark.parametrize(
    ("sources", "targets", "message"),
    [
        (7, [0], "the sources name world 7, but this simulation has the worlds 0 to 6"),
        (0, [-1], "the targets name world -1"),
        (0, [1, 2, 1], "the targets name world 1 more than once"),
        ([0, 1], [1, 2, 3], "2 sources cannot be copied onto 3 targets"),
        (0, [1.5], "the targets are numbers of worlds, one or a list of them, not float64"),
        (0, np.ones(7, bool), "not bool of shape"),
        (0, [[1], [2]], r"not int64 of shape \(2, 1\)"),
    ],
)
def test_what_cannot_be_copied_is_refused_and_nothing_has_changed(
    aged: wl.Simulation, columns: Columns, sources: object, targets: object, message: str
) -> None:
    before = columns(aged)
    with pytest.raises(InputError, match=message):
        aged.copy_worlds(sources, targets)
    for name, values in columns(aged).items():
        np.testing.assert_array_equal(values, before[name], err_msg=name)


def test_a_closed_simulation_takes_no_copies(race: wl.Definition) -> None:
    simulation = wl.Simulation(race, 2, seed=0)
    simulation.close()
    for use in (lambda: simulation.copy_worlds(0, [1]), simulation.snapshot, simulation.record):
        with pytest.raises(InputError, match="closed"):
            use()
