"""Tests that need an NVIDIA GPU: all of this folder are marked ``gpu``, and skipped where there is none."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import warp as wp

import worldloom as wl

HERE = Path(__file__).parent
os.environ.setdefault(
    "XLA_PYTHON_CLIENT_PREALLOCATE", "false"
)  # JAX would take most of the GPU's memory from processes beside this one


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    mine = [item for item in items if HERE in item.path.parents]
    if not mine:
        return
    wp.init()
    missing = not wp.is_cuda_available()
    for item in mine:
        item.add_marker(pytest.mark.gpu)
        if missing:
            item.add_marker(pytest.mark.skip(reason="needs an NVIDIA GPU with its driver, and this machine shows none"))


def assert_close(one: wl.Simulation, two: wl.Simulation, when: str, atol: float = 1e-5, rtol: float = 1e-5) -> None:
    """Every column of two simulations agrees: whole numbers and flags exactly, real numbers within the tolerance."""
    for table in one.tables.values():
        for column in table:
            a, b = column.numpy(), two.tables[table.name][column.field.name].numpy()
            if column.dtype.kind == "f":
                np.testing.assert_allclose(b, a, atol=atol, rtol=rtol, err_msg=f"{column.name}, {when}")
            else:
                np.testing.assert_array_equal(b, a, err_msg=f"{column.name}, {when}")


def copy_columns(source: wl.Simulation, target: wl.Simulation) -> None:
    """Bring ``target`` to the state of ``source``, so that the rounding of one step is judged, not its growth."""
    for table in source.tables.values():
        for column in table:
            target.tables[table.name][column.field.name].assign(column.numpy())


@pytest.fixture(scope="session")
def close():
    return assert_close


@pytest.fixture(scope="session")
def synchronise():
    return copy_columns
