"""Lists of the rows of each value by the threads of warps, compared with NumPy."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "core"))

from test_row_list_kernels import CASES, assert_lists


@pytest.mark.parametrize("case", [*CASES, (5000, 70, 32, 32, True), (5000, 70, 32, 5000, False)])
def test_lists_on_a_gpu(case: tuple[int, int, int, int, bool]) -> None:
    assert_lists("cuda:0", *case)
