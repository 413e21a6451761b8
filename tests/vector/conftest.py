"""What tests of trainers share."""

import pytest
import torch


@pytest.fixture
def one_thread():
    """Small networks only lose time with several threads."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
