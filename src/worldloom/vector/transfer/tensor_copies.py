"""Copies of several tensors in new memory, made by one kernel."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import warp as wp

from worldloom.core.base.console import compile_notice
from worldloom.core.base.shards import WARP_LOCK
from worldloom.core.base.warp_private import bind_launch
from worldloom.vector.transfer.transfer_kernels import (
    COPY_BYTES,
    MAX_TARGETS,
    CopiedColumn,
    TargetAddresses,
    copy_columns,
    copy_columns_by_mail,
)

if TYPE_CHECKING:
    from torch import Tensor

PACKED_ALIGNMENT = 256
"""The copies within one allocation begin at multiples of this number of bytes."""
MAX_AHEAD = 16
"""Copies of a tensor in one allocation."""
MAX_AHEAD_BYTES = 1 << 24
"""Bytes of one allocation that holds several copies."""
_TARGETS, _NUMBER = 2, 3
"""Indices of the addresses and of the number of the copies in the parameters of a launch; the first is Warp's own."""


@dataclass(frozen=True)
class CopySource:
    """A tensor to copy.

    Attributes:
        tensor: Contiguous, on the device of the launch.
        widen: Whether its int32 numbers become int64 in the copy.
    """

    tensor: Tensor
    widen: bool = False

    @property
    def nbytes(self) -> int:
        return self.tensor.nbytes

    @property
    def copied_bytes(self) -> int:
        """Bytes of the copy."""
        return self.nbytes * (2 if self.widen else 1)

    @property
    def copied_dtype(self) -> Any:
        """The type of the copy."""
        import torch

        return torch.int64 if self.widen else self.tensor.dtype


class PackedCopy(NamedTuple):
    """The copies of the packed tensors of one call, of which :meth:`TensorCopies.unpack` makes tensors.

    Attributes:
        allocation: Bytes, shape (number of copies, bytes of one copy).
        number: Which of the copies in the allocation it is.
    """

    allocation: Tensor
    number: int


class TensorCopies:
    """Copies tensors into new memory at every call.

    PyTorch takes longer to allocate a tensor on a GPU than to launch the kernel, so the memory of the next calls is
    allocated at once: at most ``MAX_AHEAD`` copies of a tensor, in ``MAX_AHEAD_BYTES``. It is freed when the last of
    these copies is.

    Args:
        separate: Tensors whose copies are returned one by one; at most ``MAX_TARGETS - 1``.
        packed: Tensors whose copies are returned together.
        stream: Returns the stream of the launch; None for Warp's.
    """

    def __init__(
        self, separate: Sequence[CopySource], packed: Sequence[CopySource], stream: Callable[[], wp.Stream | None]
    ) -> None:
        self._separate, self._packed, self._stream = separate, packed, stream
        self._offsets, self._packed_bytes = [], 0
        for source in packed:
            self._offsets.append(self._packed_bytes)
            self._packed_bytes += -(-source.copied_bytes // PACKED_ALIGNMENT) * PACKED_ALIGNMENT
        self._device = separate[0].tensor.device
        largest = max(self._packed_bytes, *(source.copied_bytes for source in separate))
        self._num_ahead = max(1, min(MAX_AHEAD, MAX_AHEAD_BYTES // largest))
        self._ahead: list[tuple[Tensor, ...]] = []
        """The memory of the copies of the next calls, the last of them first."""
        self._ahead_stream: wp.Stream | None = None
        """The stream of that memory: PyTorch reuses freed memory for later work on the same stream."""
        self._packed_ahead: Tensor | None = None
        self._prepared: tuple[Tensor, ...] | None = None
        """The copies that a graph has made, until a call returns them."""
        self._num_threads = 0
        self._columns = self._describe(wp.device_from_torch(self._device))
        with WARP_LOCK, compile_notice(f"the copies of results for {self._columns.device.alias}"):
            launch = self._record(copy_columns, TargetAddresses(), 0)
        self._launch = bind_launch(launch)
        self._addresses = (ctypes.c_uint64 * MAX_TARGETS).from_buffer(launch.params[_TARGETS])
        self._number = launch.params[_NUMBER]

    @property
    def packs(self) -> bool:
        """Whether there are packed copies."""
        return bool(self._packed)

    @property
    def num_allocations(self) -> int:
        """Number of allocations that the copies are parts of."""
        return len(self._separate) + self.packs

    def _describe(self, device: wp.Device) -> wp.array:
        """The sources and their places in the allocations, for the kernels."""
        placed = [(source, index, 0, source.copied_bytes) for index, source in enumerate(self._separate)]
        placed += [
            (source, len(self._separate), offset, self._packed_bytes)
            for source, offset in zip(self._packed, self._offsets, strict=True)
        ]
        columns = []
        for source, target, offset, stride in placed:
            column = CopiedColumn()
            column.source, column.size, column.widen = source.tensor.data_ptr(), source.nbytes, source.widen
            column.target, column.offset, column.stride = target, offset, stride
            column.first_thread = self._num_threads
            columns.append(column)
            self._num_threads += _num_threads(source)
        return wp.array(columns, dtype=CopiedColumn, device=device)

    def _record(self, kernel: Any, *inputs: Any) -> wp.Launch:
        columns = self._columns
        return wp.launch(kernel, self._num_threads, [columns, *inputs], device=columns.device, record_cmd=True)

    def record_by_mail(self, mail: wp.array, entry: int) -> wp.Launch:
        """The launch of a graph that copies to the places that :meth:`prepare` returns, in ``mail`` from this entry."""
        return self._record(copy_columns_by_mail, mail, entry)

    def _allocate(self) -> None:
        """Allocate the memory of the next calls."""
        import torch

        count = self._num_ahead
        with torch.inference_mode(False):  # a tensor made in inference mode could not be changed outside of it
            blocks = [
                torch.empty(
                    (count * source.tensor.shape[0], *source.tensor.shape[1:]),
                    dtype=source.copied_dtype,
                    device=self._device,
                )
                for source in self._separate
            ]
            if self._packed:
                self._packed_ahead = torch.empty((count, self._packed_bytes), dtype=torch.uint8, device=self._device)
                blocks.append(self._packed_ahead)
            # "unsafe": for autograd the parts are tensors of their own, and no views of their allocation.
            parts = [torch.unsafe_chunk(block, count) for block in blocks[: len(self._separate)]]
        self._ahead = list(zip(*parts, strict=True))[::-1]
        for index, block in enumerate(blocks):
            self._addresses[index] = block.data_ptr()

    def _next(self, stream: wp.Stream | None) -> tuple[Tensor, ...]:
        """The memory of the next copies; their number is in the parameters of the launch."""
        if not self._ahead or stream is not self._ahead_stream:
            self._allocate()
            self._ahead_stream = stream
        copies = self._ahead.pop()
        self._number.value = self._num_ahead - 1 - len(self._ahead)
        return copies

    def prepare(self) -> list[int]:
        """Number and addresses of copies that a graph makes at its next launch, and that the next call returns."""
        self._prepared = self._next(self._stream())
        return [self._number.value, *self._addresses[: self.num_allocations]]

    def discard(self) -> None:
        """Forget the copies that a graph has made: the tensors have changed since."""
        self._prepared = None

    def __call__(self) -> tuple[Tensor, ...]:
        """The copies of the separate tensors."""
        copies = self._prepared
        if copies is not None:
            self._prepared = None
            return copies
        stream = self._stream()
        copies = self._next(stream)
        self._launch(stream)
        return copies

    def packed(self) -> PackedCopy:
        """The packed copies of the last call."""
        assert self._packed_ahead is not None, "there are no packed tensors"
        return PackedCopy(self._packed_ahead, self._number.value)

    def unpack(self, copy: PackedCopy) -> list[Tensor]:
        """The copies of the packed tensors, in their order."""
        row = copy.allocation[copy.number]
        return [
            row[offset : offset + source.copied_bytes].view(source.copied_dtype).view(source.tensor.shape)
            for source, offset in zip(self._packed, self._offsets, strict=True)
        ]


def make_copies(
    separate: Iterable[CopySource | None], packed: Iterable[CopySource | None], stream: Callable[[], wp.Stream | None]
) -> TensorCopies | None:
    """The copies of these tensors; None where a source is None, or where one launch cannot copy them."""
    parts = [list(separate), list(packed)]
    known = [[source for source in part if source is not None] for part in parts]
    sources = [source for part in known for source in part]
    if (
        len(sources) < sum(map(len, parts))
        or len(known[0]) >= MAX_TARGETS
        or not all(source.tensor.is_contiguous() for source in sources)
        or sum(map(_num_threads, sources)) >= 2**31
    ):
        return None
    return TensorCopies(known[0], known[1], stream)


def _num_threads(source: CopySource) -> int:
    return -(-source.nbytes // COPY_BYTES)
