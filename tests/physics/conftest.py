"""Fixtures for the tests of rigid bodies."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def quick(quick_compilation: None) -> None:
    """A world with bodies takes half a minute to compile with optimizations, a third of that without."""
