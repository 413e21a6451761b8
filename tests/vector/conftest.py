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
