"""Every construct of the language on CUDA: the worlds of the language tests, compared with the CPU after every step."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import worldloom as wl
from worldloom.core.tools.compare import compare

sys.path.insert(0, str(Path(__file__).parents[1] / "core" / "frontend"))

from test_language import FLOW, NUMBERS, SHAPES
from test_language_edges import EDGES
from test_language_rows import GAME, MEETING


@pytest.mark.parametrize("definition", [NUMBERS, FLOW, SHAPES, EDGES, MEETING, GAME], ids=lambda d: d.id)
def test_cpu_and_cuda_agree(definition: wl.Definition) -> None:
    assert compare(definition, ("cpu", "cuda:0"), num_worlds=16, steps=12) is None
