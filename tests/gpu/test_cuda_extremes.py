"""The least and the greatest of many rows on a GPU: by whole warps, and by warps at the border of two worlds."""

from __future__ import annotations

import numpy as np
import pytest
from extreme_worlds import cards

import worldloom as wl


@pytest.mark.parametrize("count", [5, 32, 40, 999, 1024])
def test_they_are_the_cpus(count: int) -> None:
    cpu, cuda = (wl.Simulation(cards(count), 37, device, seed=1) for device in ("cpu", "cuda:0"))
    for _ in range(5):
        cpu.step()
        cuda.step()
        for table in ("Card", "Box", "World"):
            for column in cpu.tables[table]:
                np.testing.assert_array_equal(
                    cuda.tables[table][column.field.name].numpy(), column.numpy(), column.name
                )
