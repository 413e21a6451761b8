"""Fixtures for the tests of HideSeek: one simulation for all tests of a file."""

from collections.abc import Iterator

import pytest

import worldloom as wl


@pytest.fixture(scope="module")
def sim(quick_compilation: None) -> Iterator[wl.Simulation]:
    simulation = wl.Simulation("HideSeek-v0", 4, "cpu", seed=0, threads=1)
    yield simulation
    simulation.close()
