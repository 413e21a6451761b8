"""One kernel copies tensors of any type and size into new memory."""

import pytest
import torch

from worldloom.vector.transfer.tensor_copies import PACKED_ALIGNMENT, CopySource, TensorCopies, make_copies
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
    first, second = copies(), copies()
    for copied in (first, second):
        *separate, packed = copied
        for tensor, copy in zip(sources * 2, [*separate, *copies.unpack(packed)], strict=True):
            assert copy.dtype == tensor.tensor.dtype and copy.is_contiguous() and torch.equal(copy, tensor.tensor)
    addresses = {copy.data_ptr() for copy in (*first, *second, *(source.tensor for source in sources))}
    assert len(addresses) == len(first) + len(second) + len(sources)


def test_later_changes_of_the_sources_do_not_reach_the_copies():
    source = torch.zeros(50)
    copies = TensorCopies([CopySource(source)], [CopySource(source)], no_stream)
    kept, packed = copies()
    source.fill_(1.0)
    assert not kept.any() and not copies.unpack(packed)[0].any()
    assert copies()[0].all()


@pytest.mark.parametrize("size", [1, 3, 4, 5, 64])
def test_int32_becomes_int64(size):
    source = torch.arange(-size, size, dtype=torch.int32) * 2**24
    copies = TensorCopies([CopySource(source, widen=True)], [CopySource(source, widen=True)] * 2, no_stream)
    separate, packed = copies()
    assert packed.numel() % PACKED_ALIGNMENT == 0
    for copy in (separate, *copies.unpack(packed)):
        assert copy.dtype == torch.int64 and torch.equal(copy, source.long())


def test_what_one_launch_cannot_copy_is_refused():
    source = CopySource(torch.zeros(4))
    assert make_copies([source] * (MAX_TARGETS - 1), [source] * 40, no_stream) is not None
    assert make_copies([source] * MAX_TARGETS, [], no_stream) is None
    assert make_copies([source, None], [], no_stream) is None
    assert make_copies([source], [CopySource(torch.zeros(4, 2)[:, 0])], no_stream) is None
