"""PyTorch's settings are right while a training runs, and as before afterwards."""

import pytest
import torch

from worldloom.learn.device.torch_settings import (
    MIN_PARALLEL_ELEMENTS,
    one_thread,
    use_torch_settings,
    useful_threads,
)


@pytest.mark.parametrize(("numbers", "threads"), [(MIN_PARALLEL_ELEMENTS - 1, 1), (MIN_PARALLEL_ELEMENTS, 2)])
def test_small_operations_get_one_thread(numbers, threads):
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with use_torch_settings(torch.device("cpu"), useful_threads(numbers)):
            assert torch.get_num_threads() == threads
        assert torch.get_num_threads() == 2
        with one_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_settings_come_back_after_an_error():
    before = torch.get_num_threads(), torch.get_float32_matmul_precision()
    with pytest.raises(KeyError), use_torch_settings(torch.device("cpu"), 1):
        raise KeyError
    assert (torch.get_num_threads(), torch.get_float32_matmul_precision()) == before
