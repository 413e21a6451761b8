"""Fixtures for the tests of Atari."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def quick(quick_compilation: None) -> None:
    """The tests of this folder are about what worlds do: they compile them without optimizations."""
