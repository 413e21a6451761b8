"""Fixtures for the tests of Escape Room."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def quick() -> None:
    """Replaces the fixture of the folder above: rigid bodies without optimizations take 20 times as long."""
