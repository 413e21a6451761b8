"""Copies of large observations that the threads of a step make while other slices of the worlds are being stepped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from worldloom.core.runtime.executor import OutputCopy
from worldloom.vector.env_layout import combine_values
from worldloom.vector.transfer.column_readers import Reader

Array = np.ndarray[Any, Any]


class OverlappedCopies:
    """The observations of a batch, some of which its steps copy.

    Args:
        views: The memory of the columns that steps copy, by the key of the observation.
        readers: Readers of all observations in arrays, by key.
    """

    def __init__(self, views: Mapping[str, Array], readers: Mapping[str, Reader]) -> None:
        self._views, self._readers = views, readers
        self._copies: dict[str, Array] = {}

    def allocate(self) -> dict[str, Array]:
        """New memory for the copies of one step, by key."""
        return {key: np.empty_like(view) for key, view in self._views.items()}

    def output_copies(self, copies: Mapping[str, Array]) -> list[OutputCopy]:
        """The argument of the step that fills ``copies``."""
        return [(self._views[key], copy) for key, copy in copies.items()]

    def keep(self, copies: dict[str, Array]) -> None:
        """Keep the copies of the last step for :meth:`take`."""
        self._copies = copies

    def discard(self) -> None:
        """Forget the copies: the worlds have been changed since."""
        self._copies = {}

    def take(self) -> Any:
        """The current observations in arrays; copies of the last step are returned at most once."""
        copies, self._copies = self._copies, {}
        return combine_values({key: copies[key] if key in copies else read() for key, read in self._readers.items()})
