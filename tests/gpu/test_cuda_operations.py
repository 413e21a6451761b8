"""Random operations on simulations on CUDA, held to the interpreter bit for bit."""

from pathlib import Path

import pytest

from worldloom.testing.operations import draw, run
from worldloom.testing.operations.worlds import WORLDS

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize(("world", "seed"), [*((world, 40 + k) for k, world in enumerate(WORLDS)), ("random", 50)])
def test_operations_do_the_same_on_cuda(world: str, seed: int, tmp_path: Path):
    assert run(draw(seed, 12 if world == "yard" else 60, world), ("python", "cuda"), tmp_path) is None


def test_kernels_of_a_large_batch(tmp_path: Path):
    assert run(draw(60, 40, "orchard-drop"), ("python", "cuda-large"), tmp_path) is None
