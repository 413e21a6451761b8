"""One kernel copies tensors of any type and size into new memory."""

import itertools

import pytest
import torch

from worldloom.vector.transfer.tensor_copies import (
    MAX_AHEAD,
    MAX_AHEAD_BYTES,
    PACKED_ALIGNMENT,
    CopySource,
    TensorCopies,
    make_copies,
)
from worldloom.vector.transfer.transfer_kernels import MAX_TARGETS


def no_stream():
    return None


def tensors():
    generator = torch.Generator().manual_seed(0)
    whole = torch.randint(-(2**31), 2**31, (41,), generator=generator, dtype=torch.int32)
    return [
        torch.randn(7, 3, generator=generator),
        torch.randn(5, dtype=torch.float64, generator=generator),
        torch.arange(33, dtype=torch.uint8),
        torch.rand(1, generator=generator) < 2.0,
        whole,
        whole[1:].view(20, 2),  # begins at no multiple of 16 bytes
    ]


def test_copies_are_equal_and_new():
    sources = [CopySource(tensor) for tensor in tensors()]
    copies = TensorCopies(sources, sources, no_stream)
    found = [[*copies(), *copies.unpack(copies.packed())] for _ in range(2 * MAX_AHEAD + 3)]
    for copied in found:
        for tensor, copy in zip(sources * 2, copied, strict=True):
            assert copy.dtype == tensor.tensor.dtype and copy.is_contiguous() and torch.equal(copy, tensor.tensor)
    regions = sorted((copy.data_ptr(), copy.nbytes) for copied in found for copy in copied)
    assert all(first + size <= second for (first, size), (second, _) in itertools.pairwise(regions))


def test_later_changes_of_the_sources_do_not_reach_the_copies():
    source = torch.zeros(50)
    copies = TensorCopies([CopySource(source)], [CopySource(source)], no_stream)
    (kept,), packed = copies(), copies.packed()
    source.fill_(1.0)
    (later,) = copies()
    assert later.all() and not kept.any() and not copies.unpack(packed)[0].any()


def test_copies_are_tensors_of_their_own_for_autograd():
    copies = TensorCopies([CopySource(torch.ones(5))], [], no_stream)
    with torch.inference_mode():
        (kept,) = copies()
    (other,) = copies()
    kept.mul_(torch.full((5,), 2.0, requires_grad=True))  # refused for one of several views
    assert kept.requires_grad and not other.requires_grad and other.eq(1.0).all()


def test_memory_of_another_stream_is_not_used():
    streams = [object(), object()]
    copies = TensorCopies([CopySource(torch.ones(1000))], [], lambda: streams[0])
    copies._launch = lambda stream: None
    first, second = copies(), copies()
    streams.reverse()
    third = copies()
    storages = [copy[0].untyped_storage().data_ptr() for copy in (first, second, third)]
    assert storages[0] == storages[1] != storages[2]


def test_large_copies_are_allocated_one_by_one():
    source = torch.zeros(MAX_AHEAD_BYTES // 4 // 3 + 1)
    (copy,) = TensorCopies([CopySource(source)], [], no_stream)()
    assert copy.untyped_storage().nbytes() == 2 * source.nbytes


@pytest.mark.parametrize("size", [1, 3, 4, 5, 64])
def test_int32_becomes_int64(size):
    source = torch.arange(-size, size, dtype=torch.int32) * 2**24
    copies = TensorCopies([CopySource(source, widen=True)], [CopySource(source, widen=True)] * 2, no_stream)
    (separate,), packed = copies(), copies.packed()
    assert packed.allocation.shape[1] % PACKED_ALIGNMENT == 0
    for copy in (separate, *copies.unpack(packed)):
        assert copy.dtype == torch.int64 and torch.equal(copy, source.long())


def test_what_one_launch_cannot_copy_is_refused():
    source = CopySource(torch.zeros(4))
    assert make_copies([source] * (MAX_TARGETS - 1), [source] * 40, no_stream) is not None
    assert make_copies([source] * MAX_TARGETS, [], no_stream) is None
    assert make_copies([source, None], [], no_stream) is None
    assert make_copies([source], [CopySource(torch.zeros(4, 2)[:, 0])], no_stream) is None
