"""The fuzzer's worlds on CUDA, held to the reference interpreter: fixed seeds of each mode of real numbers."""

import pytest

from worldloom.testing.campaign import chosen_variants, fuzz_world, scratch

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("seed", [1, 2, 3, 5, 6])
def test_fixed_seeds_run_the_same_on_cuda(seed: int):
    with scratch() as folder:
        report = fuzz_world(seed, 20, ("cuda", "cuda-unfused", "cuda-exact", "cuda-large"), folder)
    assert report.differences == []
    assert report.systems >= 19


def test_a_gpu_in_fast_mode_is_held_to_what_is_exact():
    assert chosen_variants(("cuda", "cuda-exact", "cpu"), "any") == ["cuda-exact", "cpu"]
    assert chosen_variants(("cuda", "cuda-exact"), "dyadic") == ["cuda", "cuda-exact"]
