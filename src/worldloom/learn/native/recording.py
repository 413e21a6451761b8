"""Kernel launches on the CPU that are recorded once and replayed with one call."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Generic, TypeVar

import torch
import warp as wp

from worldloom.core.base.shards import run_all
from worldloom.learn.device.warp_launch import record_launches

CPU = torch.device("cpu")
EntryT = TypeVar("EntryT")


class Recording:
    """The launches of ``body``, which run with every call.

    Args:
        body: Launches kernels with :func:`~worldloom.learn.device.warp_launch.launch`. It runs once. What it returns is
            kept alive, as are the tensors of the launches.
    """

    def __init__(self, body: Callable[[], Any]) -> None:
        self._tensors: list[Any] = []
        with record_launches(self._tensors) as recorded:
            self._result = body()
        self._graph = recorded.graph

    def __call__(self) -> None:
        wp.capture_launch(self._graph)


class Recordings(Generic[EntryT]):
    """Entries by key, such as the addresses of the tensors they use; the oldest are dropped.

    Args:
        capacity: Maximum number of entries.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._entries: dict[Hashable, EntryT] = {}

    def get(self, key: Hashable, make: Callable[[], EntryT]) -> EntryT:
        """The entry of ``key``, made by ``make`` where it is missing."""
        entry = self._entries.get(key)
        if entry is None:
            while len(self._entries) >= self.capacity:
                del self._entries[next(iter(self._entries))]
            entry = self._entries[key] = make()
        return entry


def run_parallel(work: Sequence[Callable[[], None]]) -> None:
    """Run recordings at once, each in a thread of its own."""
    run_all(list(work))


def addresses(*tensors: torch.Tensor | None) -> tuple[tuple[int, int], ...]:
    """A key for recordings that use these tensors: address and size of each."""
    return tuple((0, 0) if tensor is None else (tensor.data_ptr(), tensor.numel()) for tensor in tensors)
