"""Values of spaces without a fixed shape, such as Graph, Sequence and Text: one pickle per environment.

The pickles lie in the file of the shared memory, behind its arrays. The file is sparse: each environment has a window
of addresses, and memory only for the bytes that were written.

Worker processes load this file without the rest of worldloom, so it imports nothing of it.
"""

from __future__ import annotations

import os
import pickle
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np
from gymnasium import Space
from gymnasium.vector.utils import batch_space, concatenate, create_empty_array, iterate

WINDOW_BYTES = 2**32
"""Room for the pickled value of one environment."""


def dump(value: Any) -> bytes:
    """``value`` as bytes; classes of the user's main program need the slower cloudpickle."""
    try:
        return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    except Exception:
        blob: bytes = cloudpickle.dumps(value)
        return blob


class Pickles:
    """One pickled value per environment.

    Args:
        descriptor: The file descriptor of the shared memory.
        start: The first window in the file, in bytes.
        sizes: The size of each environment's pickle in bytes, (num_envs,), in the shared memory; 0 without a value.
    """

    def __init__(self, descriptor: int, start: int, sizes: np.ndarray) -> None:
        self.descriptor, self.start, self.sizes = descriptor, start, sizes

    def put(self, row: int, value: Any) -> None:
        """Store the value of one environment."""
        self.put_bytes(row, dump(value))

    def get(self, row: int) -> Any:
        """The value of one environment."""
        return pickle.loads(self.get_bytes(row))  # noqa: S301 - from our own worker, or our own parent

    def put_bytes(self, row: int, blob: bytes) -> None:
        """Store a pickle."""
        if len(blob) > WINDOW_BYTES:
            raise ValueError(f"a pickled value takes {len(blob):,} bytes; the limit is {WINDOW_BYTES:,}")
        offset, view = self.start + row * WINDOW_BYTES, memoryview(blob)
        while view:
            written = os.pwrite(self.descriptor, view, offset)
            view, offset = view[written:], offset + written
        self.sizes[row] = len(blob)

    def get_bytes(self, row: int) -> bytes:
        """The pickle of one environment; empty without a value."""
        offset, missing, parts = self.start + row * WINDOW_BYTES, int(self.sizes[row]), []
        while missing:
            part = os.pread(self.descriptor, missing, offset)
            if not part:
                raise EOFError(f"the shared memory of environment {row} was truncated")
            parts.append(part)
            offset, missing = offset + len(part), missing - len(part)
        return b"".join(parts)


class PickledValues(Pickles):
    """The values of one space for every environment, with the methods of ``SpaceArrays``.

    Args:
        space: The space of a single environment.
        descriptor, start, sizes: As for :class:`Pickles`.
    """

    def __init__(self, space: Space[Any], descriptor: int, start: int, sizes: np.ndarray) -> None:
        super().__init__(descriptor, start, sizes)
        self.space = space

    def put_batch(self, rows: np.ndarray | slice, batch: Any) -> None:
        """Store the values of several environments.

        Args:
            rows: Their ids, (n,), or all of them as a slice.
            batch: The batched value, as Gymnasium batches the space: for most of these spaces a tuple of n values.

        Raises:
            ValueError: If the number of values is wrong.
        """
        ids = np.arange(len(self.sizes))[rows]
        values = list(iterate(batch_space(self.space, len(ids)), batch))
        if len(values) != len(ids):
            raise ValueError(f"there must be {len(ids)} values, not {len(values)}")
        for row, value in zip(ids.tolist(), values, strict=True):
            self.put(row, value)

    def get_batch(self, rows: np.ndarray | None, copy: bool) -> Any:
        """The batched value of the environments ``rows``, (n,), or of all. It never shares memory."""
        ids = range(len(self.sizes)) if rows is None else rows.tolist()
        values = [self.get(row) for row in ids]
        empty: Any = create_empty_array(self.space, len(values))  # None for spaces that Gymnasium does not know
        return concatenate(self.space, values, empty)

    def copy_rows(self, rows: slice, source: PickledValues) -> None:
        """Copy the values of ``source``."""
        for row in range(rows.start, rows.stop):
            self.put_bytes(row, source.get_bytes(row))
