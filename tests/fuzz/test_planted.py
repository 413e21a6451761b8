"""Miscompilations planted in the code generator are found."""

import planted_faults as planted
import pytest
from thorough import only_thorough


@only_thorough  # compiles dozens of worlds
def test_a_planted_fault_is_found_soon():
    """A sample of one; ``python tests/fuzz/planted_faults.py`` plants all."""
    assert planted.systems_until_found("swapped branch", 10, 6)[0]


@only_thorough
@pytest.mark.parametrize("name", planted.ON_CUDA)
def test_a_fault_among_the_threads_of_a_warp_is_found_soon(name: str):
    assert planted.systems_until_found(name, 40, 5, seed=9_000_000)[0]


@only_thorough  # test_differential.py runs the same programs
def test_nothing_is_found_where_nothing_is_planted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(planted.PLANTED, "nothing", planted.contextlib.nullcontext)
    assert planted.systems_until_found("nothing", 4, 1) == (0, "")
