"""Fixtures for the tests of ``worldloom.envpool``.

The folder is not called ``envpool``: a folder of that name on the path would hide that the package is not installed.
"""

import pytest


@pytest.fixture(scope="module", autouse=True)
def quick(quick_compilation: None) -> None:
    """The tests of this folder are about what worlds do: they compile them without optimizations."""
