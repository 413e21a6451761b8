"""Fixtures for the tests of trainers."""

import pytest
import torch


@pytest.fixture
def one_thread():
    """One PyTorch thread: several slow down small networks."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module", autouse=True)
def quick(quick_compilation: None) -> None:
    """The tests of this folder are about what worlds do: they compile them without optimizations."""
