"""Overcooked on a GPU: the same worlds as on the CPU, in several layouts and forms of observations."""

from __future__ import annotations

import pytest

from worldloom.core.tools.compare import Comparison


@pytest.mark.parametrize(
    "id",
    [
        "Overcooked-v0",
        "Overcooked-v0:layout=cramped_room+simple_o_t+corridor,horizon=50",
        "Overcooked-v0:layout=multiplayer_schelling,dtype=float32",
        "Overcooked-v0:layout=soup_coordination,observation=features",
        "Overcooked-v0:layout=large_room,players=16",
    ],
)
def test_every_step_is_that_of_the_cpu(id: str) -> None:
    comparison = Comparison(id, ["cpu", "cuda:0"], 64, seed=5)
    try:
        assert comparison.run(120) is None
    finally:
        for simulation in comparison.simulations:
            simulation.close()
