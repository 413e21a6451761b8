"""Saved states of agents that share memory with their rows, where entities and agent rows have different values."""

from __future__ import annotations

import numpy as np
import pytest
from lasting_agents import SEATS, Guest, party

import worldloom as wl

pytestmark = pytest.mark.usefixtures("quick_compilation")


def started(device: str, guests: int = 2) -> wl.Simulation:
    simulation = party(device, 2)
    simulation.set_config("guests", guests)
    simulation.set_config("length", 9)
    simulation.reset(seeds=3)
    return simulation


@pytest.mark.parametrize("worlds", [None, [1, 0]])
@pytest.mark.parametrize("target", ["python", "cpu"])
def test_the_values_of_entities_are_restored(target: str, worlds: list[int] | None) -> None:
    """As if they were published, also where the agent rows of a state hold others."""
    first, second = started("python"), started(target)
    first[Guest].plate = 3.0
    saved = first.snapshot() if worlds is None else first.snapshot(worlds)
    assert not np.array_equal(saved.tensors["Guest.plate"], saved.tensors["Guest__agents.plate"])
    second.restore(saved, worlds)
    for _ in range(3):
        first.step(np.zeros((2, SEATS), np.int32))
        second.step(np.zeros((2, SEATS), np.int32))
        rows = [simulation[Guest].agent_rows.plate.numpy() for simulation in (first, second)]
        assert np.array_equal(*rows) and (rows[1][:, 2:] == 0.0).all() and (rows[1][:, 0] == 3.0).any()


def test_values_in_a_snapshot_can_be_changed() -> None:
    saved, simulation = started("cpu").snapshot(), started("cpu")
    saved.tensors["Guest.plate"][:] = 3.0
    simulation.restore(saved)
    assert (simulation[Guest].agent_rows.plate.numpy()[:, :2] == 3.0).all()
    assert (simulation[Guest].agent_rows.plate.numpy()[:, 2:] == 0.0).all()


@pytest.mark.parametrize("table", ["entities", "agent rows"])
def test_logs_of_the_interpreter_with_writes_from_outside_replay(table: str) -> None:
    simulation = started("python")
    recorder = simulation.record()
    simulation.step(np.zeros((2, SEATS), np.int32))
    rows = simulation[Guest] if table == "entities" else simulation[Guest].agent_rows
    rows.plate = 3.0
    for _ in range(2):
        simulation.step(np.zeros((2, SEATS), np.int32))
    log = recorder.stop()
    for device in ("python", "cpu"):
        with log.replay(0, 0, device) as replay:  # the digests of its steps are verified
            assert replay.run().num_worlds == 1
