"""The stream of a step is PyTorch's current one once PyTorch uses CUDA. Here both libraries are replaced."""

import sys
from types import SimpleNamespace

import pytest
import warp as wp

from worldloom.core.runtime.user_stream import UserStream


class Stream:
    def __init__(self, device, cuda_stream):
        self.device, self.cuda_stream = device, cuda_stream


@pytest.fixture
def torch(monkeypatch):
    library = SimpleNamespace(handle=0, initialized=True)
    library.cuda = SimpleNamespace(is_initialized=lambda: library.initialized)
    library._C = SimpleNamespace(_cuda_getCurrentRawStream=lambda ordinal: library.handle + ordinal)
    monkeypatch.setitem(sys.modules, "torch", library)
    monkeypatch.setattr(wp, "Stream", Stream)
    return library


def test_current_streams(torch):
    device = SimpleNamespace(stream="Warp's", null_stream="null", ordinal=0)
    stream = UserStream(device)
    torch.initialized = False
    assert stream() == "Warp's"
    torch.initialized = True
    assert stream() == "null"
    torch.handle = 17
    side = stream()
    assert (side.device, side.cuda_stream) == (device, 17)
    torch.handle = 0
    assert stream() == "null"
    torch.handle = 17
    assert stream() is side


def test_the_stream_is_that_of_the_device(torch):
    torch.handle = 30
    assert UserStream(SimpleNamespace(ordinal=3))().cuda_stream == 33
