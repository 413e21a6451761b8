"""Benchmarks of graphs of several steps report the public interface beside them, and peers from files or papers."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import warp as wp

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
import economy
import random_steps
import step_rate
import tag
import tag_training
from thorough import only_thorough


def test_cartpole_through_both_interfaces() -> None:
    (row,) = step_rate.bench_sweep("cpu", [4], seconds=0.02, bandwidth=1e10)
    assert row.handed_in == pytest.approx(4e6 / row.microseconds_handed_in)
    assert row.env == pytest.approx(4e6 / row.microseconds_env)
    assert row.random is None  # a graph of several steps, measured on a GPU only


def test_any_world_in_a_graph_and_through_both_interfaces() -> None:
    settings = random_steps.Settings("cpu", seconds=0.02, steps=3)
    row = random_steps.measure("CartPole-v1", 4, settings, "cpu", bandwidth=1e9)
    assert row.graph > 0.0 and row.step > 0.0 and row.env is not None and row.env > 0.0
    assert row.limit == pytest.approx(4 * 1e-3 * 72, rel=0.5)  # about 72 bytes per world and step on the CPU


@pytest.mark.usefixtures("quick_compilation")
def test_tag_in_a_graph_and_through_the_public_step() -> None:
    bandwidth = tag.Bandwidth(1e10, 1e10, wp.get_device("cpu"))
    row = tag.measure(tag.grid(5), 3, bandwidth, tag.Settings("cpu", seconds=0.02, steps=2))
    assert row.world_steps_per_second == pytest.approx(3e6 / row.microseconds)
    assert row.public_steps_per_second == pytest.approx(3e6 / row.public_microseconds)


@only_thorough  # compiles the economy
def test_the_economy_in_a_graph_and_through_the_public_step() -> None:
    settings = economy.Settings("cpu", seconds=0.02)
    row = economy.step_rate(settings, wp.get_device("cpu"), 2, 1e10, reference=10.0)
    assert row.public_steps_per_second == pytest.approx(2e6 / row.public_microseconds)
    assert row.public_times == pytest.approx(row.public_steps_per_second / 10.0)


def test_tag_is_compared_with_what_a_peer_measured() -> None:
    row = {"world_steps_per_second": 8.0, "public_steps_per_second": 4.0}
    (found,) = tag.against([row], [tag.grid(5)], {"Peer, a GPU": {("grid", 5): 2.0, ("grid", 1000): 1.0}})
    assert found["source"] == "Peer, a GPU" and found["times"] == 4.0 and found["times, step()"] == 2.0


def test_constants_are_published_figures() -> None:
    assert set(tag.PUBLISHED) == set(tag_training.PUBLISHED) == {"paper, A100"}
