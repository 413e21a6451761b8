"""Numbers that the host gives to every launch of a CUDA graph, such as addresses."""

from __future__ import annotations

import ctypes

import warp as wp

from worldloom.core.base.shards import WARP_LOCK
from worldloom.vector.transfer.transfer_kernels import MAIL_ENTRIES, take_mail

NUM_SLOTS = 1024
"""Launches that the host can be ahead of the GPU."""
_CHECKED_SLOTS = NUM_SLOTS // 4
"""The host waits for the GPU, where it must, once in this number of launches."""


class Mailbox:
    """A ring of slots in the memory of the host, one for each launch, of which a kernel of the graph reads the next.

    A parameter of a recorded kernel is fixed, and an update of the graph takes longer than a store to memory.

    Args:
        device: The device of the graph.

    Attributes:
        mail: The numbers of the current launch, for the kernels that follow, shape (``MAIL_ENTRIES``,).
    """

    def __init__(self, device: wp.Device) -> None:
        with WARP_LOCK:
            self._ring = wp.zeros(NUM_SLOTS * MAIL_ENTRIES, dtype=wp.uint64, device="cpu", pinned=device.is_cuda)
            self._cursor = wp.zeros(1, dtype=wp.int32, device=device)
            self.mail = wp.zeros(MAIL_ENTRIES, dtype=wp.uint64, device=device)
            inputs = [self._ring.ptr, NUM_SLOTS, self._cursor, self.mail]
            self._take = wp.launch(
                take_mail, MAIL_ENTRIES, inputs, device=device, record_cmd=True, block_dim=MAIL_ENTRIES
            )
        self._entries = (ctypes.c_uint64 * (NUM_SLOTS * MAIL_ENTRIES)).from_address(self._ring.ptr)
        self._num_sent = 0
        self._taken: list[wp.Event | None] = [None] * (NUM_SLOTS // _CHECKED_SLOTS)
        """For each part of the ring, an event after the last launch that reads it."""

    def take(self) -> None:
        """Launch the kernel that reads the next slot, on Warp's stream."""
        self._take.launch()

    def send(self, numbers: list[int]) -> None:
        """Write the numbers of the next launch, at most ``MAIL_ENTRIES``."""
        slot = self._num_sent % NUM_SLOTS
        if slot % _CHECKED_SLOTS == 0:
            taken = self._taken[slot // _CHECKED_SLOTS]
            if taken is not None:
                wp.synchronize_event(taken)
        first = slot * MAIL_ENTRIES
        self._entries[first : first + len(numbers)] = numbers  # type: ignore[assignment]
        self._num_sent += 1

    def launched(self, stream: wp.Stream) -> None:
        """Note that the launch that takes the numbers of the last :meth:`send` is in the queue of ``stream``."""
        if self._num_sent % _CHECKED_SLOTS == 0:
            part = (self._num_sent // _CHECKED_SLOTS - 1) % len(self._taken)
            self._taken[part] = stream.record_event(self._taken[part])
