"""Tests that need an NVIDIA GPU: all of this folder are marked ``gpu``, and skipped where there is none."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
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
            a, b = column.numpy(), two.tables[table.table_name][column.field.name].numpy()
            if column.dtype.kind == "f":
                np.testing.assert_allclose(b, a, atol=atol, rtol=rtol, err_msg=f"{column.name}, {when}")
            else:
                np.testing.assert_array_equal(b, a, err_msg=f"{column.name}, {when}")


def copy_columns(source: wl.Simulation, target: wl.Simulation) -> None:
    """Bring ``target`` to the state of ``source``, so that the rounding of one step is judged, not its growth."""
    for table in source.tables.values():
        for column in table:
            target.tables[table.table_name][column.field.name].assign(column.numpy())


@pytest.fixture(autouse=True)
def share_the_gpu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests marked ``alone`` wait until no other process runs a test, and make the others wait."""
    alone = request.node.get_closest_marker("alone") is not None
    folder = tmp_path_factory.getbasetemp().parent  # of all processes of pytest-xdist
    with open(folder / "gpu-gate", "w") as gate, open(folder / "gpu-room", "w") as room:
        fcntl.flock(gate, fcntl.LOCK_EX)  # held while one that is alone waits, so that no other test gets ahead of it
        fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(gate, fcntl.LOCK_UN)
        yield


@pytest.fixture(scope="session")
def close():
    return assert_close


@pytest.fixture(scope="session")
def synchronise():
    return copy_columns
