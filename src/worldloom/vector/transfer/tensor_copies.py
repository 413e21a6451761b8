"""Copies of several tensors in new memory, made by one kernel."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import warp as wp

from worldloom.core.base.console import compile_notice
from worldloom.core.base.shards import WARP_LOCK
from worldloom.vector.transfer.transfer_kernels import (
    COPY_BYTES,
    MAX_TARGETS,
    CopiedColumn,
    TargetAddresses,
    copy_columns,
)

if TYPE_CHECKING:
    from torch import Tensor

PACKED_ALIGNMENT = 256
"""The copies within one allocation begin at multiples of this number of bytes."""
_TARGETS = 2
"""Index of the addresses in the parameters of a launch; the first parameter is Warp's own."""


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


class TensorCopies:
    """Copies tensors into new memory at every call.

    Args:
        separate: Tensors whose copies are returned one by one; at most ``MAX_TARGETS - 1``.
        packed: Tensors whose copies share one allocation, which :meth:`unpack` divides.
        stream: Returns the stream of the launch; None for Warp's.
    """

    def __init__(
        self, separate: Sequence[CopySource], packed: Sequence[CopySource], stream: Callable[[], wp.Stream | None]
    ) -> None:
        import torch

        self._packed, self._stream = packed, stream
        self._offsets, end = [], 0
        for source in packed:
            self._offsets.append(end)
            end += -(-source.copied_bytes // PACKED_ALIGNMENT) * PACKED_ALIGNMENT
        forms: list[tuple[Sequence[int], Any]] = [(source.tensor.shape, source.copied_dtype) for source in separate]
        forms += [((end,), torch.uint8)] if packed else []
        device = separate[0].tensor.device
        self._allocations = [
            functools.partial(
                torch.empty_like,
                torch.empty((), dtype=dtype, device=device).expand(shape),
                memory_format=torch.contiguous_format,
            )
            for shape, dtype in forms
        ]
        targets = [(source, index, 0) for index, source in enumerate(separate)]
        targets += [(source, len(separate), offset) for source, offset in zip(packed, self._offsets, strict=True)]
        self._launch, self._addresses = self._record(targets, wp.device_from_torch(device))

    @property
    def packs(self) -> bool:
        """Whether the last of the copies is the allocation of the packed ones."""
        return bool(self._packed)

    @staticmethod
    def _record(targets: Sequence[tuple[CopySource, int, int]], device: wp.Device) -> tuple[Any, Any]:
        """The launch that copies each source to an offset in the target of an index, and its table of addresses."""
        columns, threads = [], 0
        for source, target, offset in targets:
            column = CopiedColumn()
            column.source, column.size, column.widen = source.tensor.data_ptr(), source.nbytes, source.widen
            column.target, column.offset, column.first_thread = target, offset, threads
            columns.append(column)
            threads += _num_threads(source)
        with WARP_LOCK, compile_notice(f"the copies of results for {device.alias}"):
            inputs = [wp.array(columns, dtype=CopiedColumn, device=device), TargetAddresses()]
            launch = wp.launch(copy_columns, threads, inputs, device=device, record_cmd=True)
        address = ctypes.addressof(launch.params[_TARGETS])
        return launch, (ctypes.c_uint64 * MAX_TARGETS).from_address(address)

    def __call__(self) -> list[Tensor]:
        """The copies of the separate tensors, followed by the allocation of the packed ones where there are some."""
        copies = [allocate() for allocate in self._allocations]
        for index, copy in enumerate(copies):
            self._addresses[index] = copy.data_ptr()
        self._launch.launch(self._stream())
        return copies

    def unpack(self, allocation: Tensor) -> list[Tensor]:
        """The copies of the packed tensors, in their order."""
        return [
            allocation[offset : offset + source.copied_bytes].view(source.copied_dtype).view(source.tensor.shape)
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
