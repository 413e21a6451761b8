"""Snapshots: everything that later steps depend on, taken and put back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from thorough import THOROUGH, covering

import worldloom as wl
from worldloom.core.base.errors import InputError
from worldloom.core.model.fields import Field, Role
from worldloom.core.runtime.column import Column
from worldloom.core.state import snapshot

Columns = Callable[[wl.Simulation], dict[str, np.ndarray]]


def play(simulation: wl.Simulation, columns: Columns, steps: int) -> list[dict[str, np.ndarray]]:
    """Random actions of a fixed seed, and every column after each step."""
    numbers = np.random.default_rng(7)
    found = []
    for _ in range(steps):
        actions = simulation.columns(Role.ACTION)
        simulation.step(
            {
                name: numbers.integers(0, column.field.space.n, column.shape, np.int32)
                for name, column in actions.items()
            }
        )
        found.append(columns(simulation))
    return found


@pytest.mark.parametrize(("autoreset", "device"), covering(["same_step", "next_step"], ["python", "cpu"]))
def test_steps_after_a_restore_give_the_same_bits(
    crowd: wl.Definition, columns: Columns, autoreset: str, device: str
) -> None:
    steps = 100 if device == "cpu" else 8
    simulation = wl.Simulation(crowd, 5, device, seed=3, autoreset=autoreset, config={"max_steps": 6})
    play(simulation, columns, 8)
    taken = snapshot.copy_columns(simulation)
    wanted = play(simulation, columns, steps)
    for other in (simulation, wl.Simulation(crowd, 5, device, seed=99, autoreset=autoreset)):
        snapshot.restore(other, taken)
        for have, want in zip(play(other, columns, steps), wanted, strict=True):
            for name, values in want.items():
                np.testing.assert_array_equal(have[name], values, err_msg=name)


def test_a_snapshot_is_a_copy(crowd: wl.Definition, columns: Columns) -> None:
    simulation = wl.Simulation(crowd, 3, seed=3)
    taken = snapshot.copy_columns(simulation)
    before = {name: tensor.clone() for name, tensor in taken.items()}
    play(simulation, columns, 3)
    assert all(torch.equal(taken[name], tensor) for name, tensor in before.items())


def test_configurations_are_kept_for_the_batch_and_per_world(race: wl.Definition) -> None:
    paces = np.array([1.0, 2.0, 3.0], np.float32)
    simulation = wl.Simulation(race, 3, seed=0, config={"pace": paces, "goal": 9})
    taken = snapshot.copy_columns(simulation)
    for config in ({}, {"pace": 5.0}, {"pace": paces[::-1].copy(), "goal": np.array([2, 3, 4], np.int32)}):
        other = wl.Simulation(race, 3, seed=1, config=config)
        snapshot.restore(other, taken)
        np.testing.assert_array_equal(other.get_config("pace"), paces)
        assert other.get_config("goal") == 9
        other.step(np.zeros((3, 2), np.int32))
        np.testing.assert_array_equal(other["Runner"]["reward"].numpy(), np.repeat(paces[:, None], 2, 1))


def test_states_of_other_worlds_and_sizes_are_refused(race: wl.Definition, crowd: wl.Definition) -> None:
    taken = snapshot.copy_columns(wl.Simulation(race, 3, seed=0))
    with pytest.raises(InputError, match="not one of world 'Crowd-test'"):
        snapshot.restore(wl.Simulation(crowd, 3, seed=0), taken)
    with pytest.raises(InputError, match="this simulation of 4 worlds"):
        snapshot.restore(wl.Simulation(race, 4, seed=0), taken)
    with pytest.raises(InputError, match="shape"):
        snapshot.restore(wl.Simulation(race, 3, seed=0, counts={"Runner": 3}), taken)


def test_a_refused_state_changes_nothing(race: wl.Definition, columns: Columns) -> None:
    taken = snapshot.copy_columns(wl.Simulation(race, 3, seed=0, config={"pace": 4.0}))
    for simulation in (wl.Simulation(race, 4, seed=5), wl.Simulation(race, 3, seed=5, counts={"Runner": 3})):
        before = columns(simulation)
        with pytest.raises(InputError):
            snapshot.restore(simulation, taken)
        for name, values in columns(simulation).items():
            np.testing.assert_array_equal(values, before[name], err_msg=name)


def equal(have: dict[str, np.ndarray], want: dict[str, np.ndarray]) -> None:
    for name, values in want.items():
        np.testing.assert_array_equal(have[name], values, err_msg=name)


def test_many_worlds_go_on_bit_for_bit(columns: Columns) -> None:
    worlds, steps = (100_000, 1000) if THOROUGH else (20_000, 300)
    simulation = wl.Simulation("CartPole-v1", worlds, seed=11)
    actions = [np.random.default_rng(i).integers(0, 2, (worlds, 1), np.int32) for i in range(7)]

    def play_on(steps: int) -> None:
        for i in range(steps):
            simulation.step(actions[i % 7])

    play_on(40)
    taken = simulation.snapshot()
    play_on(steps)
    wanted = columns(simulation)
    assert wanted["World.episode"].min() > (5 if THOROUGH else 1)
    simulation.restore(taken)
    assert int(simulation.world.step.numpy().max()) <= 40
    play_on(steps)
    for name, values in columns(simulation).items():
        assert values.tobytes() == wanted[name].tobytes(), name


@pytest.mark.parametrize("device", ["cpu", "python"])
def test_a_file_brings_a_simulation_to_where_it_was(
    crowd: wl.Definition, columns: Columns, device: str, tmp_path: Path
) -> None:
    simulation = wl.Simulation(
        crowd, 5, device, seed=3, config={"max_steps": 6, "wind": np.linspace(0.0, 0.4, 5, dtype=np.float32)}
    )
    play(simulation, columns, 8)
    simulation.snapshot().save(tmp_path / "five.safetensors")
    wanted = play(simulation, columns, 8)
    other = wl.Simulation(crowd, 5, device, seed=99)
    other.restore(wl.Snapshot.load(tmp_path / "five.safetensors"))
    for have, want in zip(play(other, columns, 8), wanted, strict=True):
        equal(have, want)
    assert [path.name for path in tmp_path.iterdir()] == ["five.safetensors"]


def test_some_worlds_are_put_onto_others(crowd: wl.Definition, columns: Columns) -> None:
    simulation = wl.Simulation(crowd, 5, seed=3)
    play(simulation, columns, 6)
    taken, before = simulation.snapshot(), columns(simulation)
    some = simulation.snapshot(worlds=[4, 1])
    play(simulation, columns, 9)
    now = columns(simulation)
    assert all(torch.equal(some.tensors[name], tensor) for name, tensor in taken.worlds([4, 1]).tensors.items())
    simulation.restore(some, worlds=[0, 3])
    for name, values in columns(simulation).items():
        wanted = now[name].copy()
        if len(wanted) == 5:
            wanted[[0, 3]] = before[name][[4, 1]]
        np.testing.assert_array_equal(values, wanted, err_msg=name)
    simulation.restore(taken[2], worlds=[1, 2])
    np.testing.assert_array_equal(simulation["Walker"].place.numpy()[[1, 2]], before["Walker.place"][[2, 2]])


def test_one_world_goes_on_alone_as_in_its_batch(crowd: wl.Definition, columns: Columns) -> None:
    batch = wl.Simulation(crowd, 5, seed=3)
    play(batch, columns, 6)
    alone = wl.Simulation(crowd, 1, seed=0, world_offset=3)
    alone.restore(batch.snapshot()[3])
    for step in range(6):
        heading = np.full((5, 5), step % 4, np.int32)
        batch.step(heading)
        alone.step(heading[:1])
        for name, values in columns(alone).items():
            whole = columns(batch)[name]
            np.testing.assert_array_equal(values[0], whole[3 if len(whole) == 5 else 0], err_msg=name)


def test_configurations_go_with_the_worlds_that_have_them(race: wl.Definition) -> None:
    fast, slow = (wl.Simulation(race, 3, seed=0, config={"pace": pace}) for pace in (4.0, 1.0))
    slow.restore(fast.snapshot()[0], worlds=[1])
    np.testing.assert_array_equal(slow.get_config("pace"), np.array([1.0, 4.0, 1.0], np.float32))
    slow.step(np.zeros((3, 2), np.int32))
    np.testing.assert_array_equal(slow["Runner"].reward.numpy()[:, 0], np.array([1.0, 4.0, 1.0], np.float32))
    same = wl.Simulation(race, 3, seed=0, config={"pace": 4.0})
    same.restore(fast.snapshot()[0], worlds=[1])
    assert same.get_config("pace") == 4.0  # one value for all still


def test_what_does_not_fit_is_refused_and_nothing_has_changed(
    race: wl.Definition, crowd: wl.Definition, columns: Columns
) -> None:
    simulation = wl.Simulation(race, 3, "python", seed=5)
    simulation.step(np.ones((3, 2), np.int32))
    changed = replace(race, max_steps=7)
    of_race = wl.Simulation(race, 3, "python", seed=0).snapshot()
    tensors = dict(of_race.tensors)
    cases = [
        (
            wl.Simulation(crowd, 3, "python", seed=0).snapshot(),
            None,
            "a snapshot of world 'Crowd-test', not one of world 'Race-test'",
        ),
        (wl.Simulation(changed, 3, "python", seed=0).snapshot(), None, "another 'Race-test'"),
        (wl.Simulation(race, 3, "python", seed=0, counts={"Runner": 4}).snapshot(), None, "another 'Race-test'"),
        (
            wl.Simulation(race, 3, "python", seed=0, autoreset="disabled").snapshot(),
            None,
            "autoreset 'disabled', and this one has 'same_step'",
        ),
        (wl.Simulation(race, 4, "python", seed=0).snapshot(), None, "holds 4 worlds, but this simulation has 3"),
        (of_race, [0, 1], "holds 3 worlds, which cannot be put onto 2"),
        (of_race, [0, 1, 3], "worlds name world 3"),
        (of_race, [0, 1, 1], "worlds name world 1 more than once"),
        (tensors, None, "restored from a snapshot, not from dict"),
        (
            replace(of_race, tensors={**tensors, "Runner.age": tensors["Runner.age"][:, :1]}),
            [0, 1, 2],
            r"Runner.age has shape \(3, 1\)",
        ),
        (
            replace(of_race, tensors={**tensors, "Runner.age": tensors["Runner.age"].float()}),
            None,
            "Runner.age holds torch.float32",
        ),
        (
            replace(of_race, tensors={**tensors, "World.pace": tensors["World.pace"].expand(2)}),
            None,
            r"World.pace has shape \(2,\)",
        ),
        (
            replace(of_race, tensors={k: v for k, v in tensors.items() if k != "Runner.age"}),
            None,
            "differs in the columns Runner.age",
        ),
    ]
    before = columns(simulation)
    for saved, worlds, message in cases:
        with pytest.raises(InputError, match=message):
            simulation.restore(saved, worlds)
        equal(columns(simulation), before)


def test_faults_that_nobody_has_read_stay_to_be_read(race: wl.Definition) -> None:
    simulation = wl.Simulation(race, 3, seed=5)
    taken = simulation.snapshot()
    simulation.step(np.array([[0, 0], [7, 0], [0, 0]], np.int32))
    simulation.restore(taken)
    assert [fault.world for fault in simulation.errors()] == [1]
    assert simulation.errors() == []


def test_places_that_a_snapshot_does_not_have(race: wl.Definition) -> None:
    taken = wl.Simulation(race, 3, seed=5).snapshot()
    assert [one.num_worlds for one in taken] == [1, 1, 1]
    assert repr(taken).startswith("<snapshot of 3 Race-test: ")
    for ids, message in (
        ([3], "the worlds 0 to 2, not 3"),
        ([-1], "not -1"),
        ([], "a list of whole numbers"),
        ([0.5], "a list of whole numbers"),
    ):
        with pytest.raises(InputError, match=message):
            taken.worlds(ids)


def test_what_the_engine_keeps_beside_the_columns_is_part_of_the_state(race: wl.Definition) -> None:
    simulation = wl.Simulation(race, 3, "python", seed=5)
    column = Column("Runner", Field("order", wl.int64), 3, 2, simulation.device)
    simulation.tables["Runner"].all_columns["order"] = column
    column.assign(np.arange(6).reshape(3, 2))
    taken = simulation.snapshot()
    column.fill(0)
    simulation.restore(taken)
    simulation.copy_worlds(2, [0])
    assert column.numpy().tolist() == [[4, 5], [2, 3], [4, 5]]


def test_worlds_that_share_rows_are_only_taken_together(race: wl.Definition) -> None:
    simulation = wl.Simulation(race, 3, "python", seed=5)
    pool = Column("Runner", Field("pool", wl.int64), 5, 2, simulation.device)
    simulation.tables["Runner"].all_columns["pool"] = pool
    taken = simulation.snapshot()
    pool.fill(7)
    simulation.restore(taken)
    assert not pool.numpy().any()
    for use in (
        lambda: simulation.copy_worlds(0, [1]),
        lambda: simulation.snapshot([0]),
        simulation.record,
        lambda: simulation.restore(taken, [0, 1, 2]),
    ):
        with pytest.raises(InputError, match="the worlds share the rows of Runner"):
            use()
