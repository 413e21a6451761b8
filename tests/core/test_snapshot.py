"""Snapshots: everything that later steps depend on, taken and put back."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

import worldloom as wl
from worldloom.core import snapshot
from worldloom.core.errors import InputError

Columns = Callable[[wl.Simulation], dict[str, np.ndarray]]


def play(simulation: wl.Simulation, columns: Columns, steps: int) -> list[dict[str, np.ndarray]]:
    """Random actions of a fixed seed, and every column after each step."""
    numbers = np.random.default_rng(7)
    found = []
    for _ in range(steps):
        actions = simulation.columns(wl.core.fields.Role.ACTION)
        simulation.step({name: numbers.integers(0, column.field.space.n, column.shape, np.int32) for name, column in actions.items()})
        found.append(columns(simulation))
    return found


@pytest.mark.parametrize("device", ["cpu", "python"])
@pytest.mark.parametrize("autoreset", ["same_step", "next_step"])
def test_steps_after_a_restore_give_the_same_bits(crowd: wl.Definition, columns: Columns, autoreset: str, device: str) -> None:
    steps = 100 if device == "cpu" else 8
    simulation = wl.Simulation(crowd, 5, device, seed=3, autoreset=autoreset, config={"max_steps": 6})
    play(simulation, columns, 8)
    taken = snapshot.take(simulation)
    wanted = play(simulation, columns, steps)
    for other in (simulation, wl.Simulation(crowd, 5, device, seed=99, autoreset=autoreset)):
        snapshot.restore(other, taken)
        for have, want in zip(play(other, columns, steps), wanted, strict=True):
            for name, values in want.items():
                np.testing.assert_array_equal(have[name], values, err_msg=name)


def test_a_snapshot_is_a_copy(crowd: wl.Definition, columns: Columns) -> None:
    simulation = wl.Simulation(crowd, 3, seed=3)
    taken = snapshot.take(simulation)
    before = {name: tensor.clone() for name, tensor in taken.items()}
    play(simulation, columns, 3)
    assert all(torch.equal(taken[name], tensor) for name, tensor in before.items())


def test_configurations_are_kept_for_the_batch_and_per_world(race: wl.Definition) -> None:
    paces = np.array([1.0, 2.0, 3.0], np.float32)
    simulation = wl.Simulation(race, 3, seed=0, config={"pace": paces, "goal": 9})
    taken = snapshot.take(simulation)
    for config in ({}, {"pace": 5.0}, {"pace": paces[::-1].copy(), "goal": np.array([2, 3, 4], np.int32)}):
        other = wl.Simulation(race, 3, seed=1, config=config)
        snapshot.restore(other, taken)
        np.testing.assert_array_equal(other.get_config("pace"), paces)
        assert other.get_config("goal") == 9
        other.step(np.zeros((3, 2), np.int32))
        np.testing.assert_array_equal(other["Runner"]["reward"].numpy(), np.repeat(paces[:, None], 2, 1))


def test_states_of_other_worlds_and_sizes_are_refused(race: wl.Definition, crowd: wl.Definition) -> None:
    taken = snapshot.take(wl.Simulation(race, 3, seed=0))
    with pytest.raises(InputError, match="not one of world 'Crowd-test'"):
        snapshot.restore(wl.Simulation(crowd, 3, seed=0), taken)
    with pytest.raises(InputError, match="this simulation of 4 worlds"):
        snapshot.restore(wl.Simulation(race, 4, seed=0), taken)
    with pytest.raises(InputError, match="shape"):
        snapshot.restore(wl.Simulation(race, 3, seed=0, counts={"Runner": 3}), taken)


def test_a_refused_state_changes_nothing(race: wl.Definition, columns: Columns) -> None:
    taken = snapshot.take(wl.Simulation(race, 3, seed=0, config={"pace": 4.0}))
    for simulation in (wl.Simulation(race, 4, seed=5), wl.Simulation(race, 3, seed=5, counts={"Runner": 3})):
        before = columns(simulation)
        with pytest.raises(InputError):
            snapshot.restore(simulation, taken)
        for name, values in columns(simulation).items():
            np.testing.assert_array_equal(values, before[name], err_msg=name)
