"""Arrays in memory that several processes share: one anonymous mapping, divided into arrays.

Worker processes load this file without the rest of worldloom, so it imports nothing of it.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import Space, spaces

from .pickled_values import WINDOW_BYTES, PickledValues, Pickles

INFO_BYTES = 4096
"""Room for one environment's pickled info; a longer one goes through its worker's socket."""
INFO_TOO_LONG = -1
"""The size of an info that did not fit."""
CACHE_LINE = 64
MAX_SEED = 2**64 - 1
"""Larger seeds are pickled."""
_STATE = (
    "rewards",
    "terminated",
    "truncated",
    "request_kinds",
    "seeds",
    "is_seeded",
    "restarted",
    "info_sizes",
    "infos",
)
"""Arrays with results and requests of environments; the others coordinate the processes."""


def create_anonymous_memory() -> int:
    """A file descriptor of empty memory without a name: the system frees it with the last process that holds it."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("worldloom-pool", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


@dataclass(frozen=True)
class SpaceLeaf:
    """One array of a nested space: the keys that lead to it, and its shape and type in a single environment."""

    path: tuple[str | int, ...]
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


def space_leaves(space: Space[Any], path: tuple[str | int, ...] = ()) -> list[SpaceLeaf]:
    """The arrays of ``space``, in a fixed order.

    Raises:
        TypeError: If one of its subspaces has no fixed shape.
    """
    if isinstance(space, spaces.Dict):
        return [leaf for key, child in space.spaces.items() for leaf in space_leaves(child, (*path, key))]
    if isinstance(space, spaces.Tuple):
        return [leaf for index, child in enumerate(space.spaces) for leaf in space_leaves(child, (*path, index))]
    if isinstance(space, (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)):
        return [SpaceLeaf(path, tuple(space.shape or ()), np.dtype(space.dtype))]
    raise TypeError(f"{space} has no fixed shape")


def has_fixed_shape(space: Space[Any]) -> bool:
    """Whether the values of ``space`` are arrays of fixed shapes. Others are pickled."""
    try:
        space_leaves(space)
    except TypeError:
        return False
    return True


class SpaceArrays:
    """The values of one space for every environment: one array (num_envs, ...) per leaf.

    Args:
        space: The space of a single environment.
        arrays: One array per leaf, in the order of :func:`space_leaves`.
    """

    def __init__(self, space: Space[Any], arrays: Sequence[np.ndarray]) -> None:
        self.space, self.arrays = space, list(arrays)
        self.paths = [leaf.path for leaf in space_leaves(space)]
        self.has_single_leaf = self.paths == [()]

    def put(self, row: int, value: Any) -> None:
        """Store the value of one environment."""
        if self.has_single_leaf:
            self.arrays[0][row] = value
            return
        for array, path in zip(self.arrays, self.paths, strict=True):
            array[row] = value_at(value, path)

    def get(self, row: int) -> Any:
        """A copy of the value of one environment, as its space describes it."""
        if self.has_single_leaf:
            return self.arrays[0][row].copy()
        return unflatten(self.space, (array[row].copy() for array in self.arrays))

    def put_batch(self, rows: np.ndarray | slice, batch: Any) -> None:
        """Store the values of several environments.

        Args:
            rows: Their ids, (n,), or all of them as a slice.
            batch: The batched value: an array (n, ...) per leaf.

        Raises:
            ValueError: If a leaf has the wrong shape.
            TypeError: If a leaf is missing, or of a kind that cannot be converted.
        """
        count = len(self.arrays[0]) if isinstance(rows, slice) else len(rows)
        for array, path in zip(self.arrays, self.paths, strict=True):
            values = np.asarray(value_at(batch, path))
            expected = (count, *array.shape[1:])
            if values.shape != expected:
                raise ValueError(f"{describe_path(path)} must have shape {expected}, not {values.shape}")
            if not np.can_cast(values.dtype, array.dtype, "same_kind") and not (
                array.dtype.kind in "iu" and values.dtype.kind in "iub"
            ):
                raise TypeError(f"{describe_path(path)} must be {array.dtype}, not {values.dtype}")
            array[rows] = values

    def get_batch(self, rows: np.ndarray | None, copy: bool) -> Any:
        """The batched value of the environments ``rows``, (n,), or of all, as views of the memory without ``copy``."""
        if rows is not None:
            return unflatten(self.space, (array[rows] for array in self.arrays))
        return unflatten(self.space, (array.copy() if copy else array for array in self.arrays))

    def copy_rows(self, rows: slice, source: SpaceArrays) -> None:
        """Copy the values of ``source``."""
        for array, other in zip(self.arrays, source.arrays, strict=True):
            array[rows] = other[rows]


def value_at(value: Any, path: tuple[str | int, ...]) -> Any:
    """The leaf of a nested value at ``path``."""
    for key in path:
        try:
            value = value[key]
        except (KeyError, IndexError, TypeError):
            raise TypeError(f"{describe_path(path)} is missing") from None
    return value


def describe_path(path: tuple[str | int, ...]) -> str:
    return "they" if not path else "the part " + "".join(f"[{key!r}]" for key in path)


def unflatten(space: Space[Any], values: Iterator[Any]) -> Any:
    """Values of leaves, nested as in ``space``."""
    if isinstance(space, spaces.Dict):
        return {key: unflatten(child, values) for key, child in space.spaces.items()}
    if isinstance(space, spaces.Tuple):
        return tuple(unflatten(child, values) for child in space.spaces)
    return next(values)


class PoolMemory:
    """The arrays that a pool and its workers share. The parent allocates them, and workers attach to them.

    Args:
        descriptor: The file descriptor of the memory.
        num_envs: Number of environments.
        starts: The first environment of every worker, and ``num_envs`` at the end.
        observation_space: The space of a single environment.
        action_space: The space of a single environment.
        keep_final: Whether there are arrays for the last observations of episodes.
        allocate: Whether to allocate the memory, which is still empty.
    """

    def __init__(
        self,
        descriptor: int,
        num_envs: int,
        starts: Sequence[int],
        observation_space: Space[Any],
        action_space: Space[Any],
        keep_final: bool,
        allocate: bool = False,
    ) -> None:
        workers, n = len(starts) - 1, num_envs
        line = CACHE_LINE // 8
        fields: dict[str, tuple[tuple[int, ...], Any]] = {
            "rewards": ((n,), np.float64),
            "terminated": ((n,), np.bool_),
            "truncated": ((n,), np.bool_),
            "request_kinds": ((n,), np.uint8),
            "seeds": ((n,), np.uint64),
            "is_seeded": ((n,), np.bool_),
            "seed_sizes": ((n,), np.int64),
            "restarted": ((n,), np.bool_),
            "info_sizes": ((n,), np.int32),
            "infos": ((n, INFO_BYTES), np.uint8),
            "submission_slots": ((n,), np.int32),
            "completion_slots": ((n,), np.int32),
            "submission_tails": ((workers, line), np.int64),
            "completion_tails": ((workers, line), np.int64),
            "target": ((line,), np.int64),
            "busy_env": ((workers, line), np.int64),
            "busy_since": ((workers, line), np.float64),
            "requests_sent": ((workers, line), np.int64),
        }
        nested = {
            "observation": observation_space,
            "action": action_space,
            **({"final": observation_space} if keep_final else {}),
        }
        for name, space in nested.items():
            leaves = space_leaves(space) if has_fixed_shape(space) else [SpaceLeaf((), (), np.dtype(np.int64))]
            fields.update({f"{name}{k}": ((n, *leaf.shape), leaf.dtype) for k, leaf in enumerate(leaves)})

        offsets, size = {}, 0
        for name, (shape, dtype) in fields.items():
            offsets[name] = size
            size += -(-max(int(np.prod(shape)) * np.dtype(dtype).itemsize, 1) // CACHE_LINE) * CACHE_LINE
        if allocate:
            os.ftruncate(descriptor, size)
        memory = mmap.mmap(descriptor, size)
        arrays = {name: np.ndarray(shape, dtype, memory, offsets[name]) for name, (shape, dtype) in fields.items()}

        self.starts = tuple(starts)
        self.rewards, self.terminated, self.truncated = arrays["rewards"], arrays["terminated"], arrays["truncated"]
        self.request_kinds, self.restarted = arrays["request_kinds"], arrays["restarted"]
        self.seeds, self.is_seeded = arrays["seeds"], arrays["is_seeded"]
        self.info_sizes, self.infos = arrays["info_sizes"], arrays["infos"]
        self.submission_slots, self.completion_slots = arrays["submission_slots"], arrays["completion_slots"]
        self.submission_tails = arrays["submission_tails"][:, 0]
        self.completion_tails = arrays["completion_tails"][:, 0]
        self.target = arrays["target"][:1]
        self.busy_env, self.busy_since, self.requests_sent = (
            arrays["busy_env"][:, 0],
            arrays["busy_since"][:, 0],
            arrays["requests_sent"][:, 0],
        )
        self._state = {
            name: array for name, array in arrays.items() if name in _STATE or name.startswith(tuple(nested))
        }
        first_window = -(-size // WINDOW_BYTES) * WINDOW_BYTES
        values: dict[str, Any] = {}
        for index, (name, space) in enumerate(nested.items()):
            if has_fixed_shape(space):
                values[name] = SpaceArrays(space, [arrays[f"{name}{k}"] for k in range(len(space_leaves(space)))])
            else:
                window = first_window + index * n * WINDOW_BYTES
                values[name] = PickledValues(space, descriptor, window, arrays[f"{name}0"])
        window = first_window + len(nested) * n * WINDOW_BYTES
        self.wide_seeds = Pickles(descriptor, window, arrays["seed_sizes"])
        self._pickled: dict[str, Pickles] = {"wide_seeds": self.wide_seeds}
        self._pickled.update({name: value for name, value in values.items() if isinstance(value, PickledValues)})
        self.observations, self.actions, self.final_observations = (
            values["observation"],
            values["action"],
            values.get("final"),
        )

    def put_seeds(self, ids: np.ndarray, seeds: np.ndarray) -> None:
        """Store the seeds of the next resets of ``ids``, (n,): whole numbers of any size, or None without a seed."""
        is_seeded = np.array([seed is not None for seed in seeds], np.bool_)
        is_wide = np.array([seed is not None and seed > MAX_SEED for seed in seeds], np.bool_)
        self.is_seeded[ids], self.wide_seeds.sizes[ids] = is_seeded, 0
        self.seeds[ids] = np.where(is_seeded & ~is_wide, seeds, 0)
        for env_id, seed in zip(ids[is_wide].tolist(), seeds[is_wide], strict=True):
            self.wide_seeds.put(env_id, seed)

    def get_seed(self, env_id: int) -> int | None:
        """The seed of the next reset of one environment; None without."""
        if not self.is_seeded[env_id]:
            return None
        return self.wide_seeds.get(env_id) if self.wide_seeds.sizes[env_id] else int(self.seeds[env_id])

    def save_state(self) -> dict[str, Any]:
        """A copy of the results and requests of all environments, by name."""
        pickled = {
            name: [value.get_bytes(row) for row in range(len(value.sizes))] for name, value in self._pickled.items()
        }
        return {**{name: array.copy() for name, array in self._state.items()}, **pickled}

    def load_state(self, state: dict[str, Any]) -> None:
        """Restore what :meth:`save_state` returned."""
        for name, array in self._state.items():
            array[...] = state[name]
        for name, value in self._pickled.items():
            for row, blob in enumerate(state[name]):
                value.put_bytes(row, blob)

    def env_slice(self, worker: int) -> slice:
        """The environments of one worker, which are consecutive."""
        return slice(self.starts[worker], self.starts[worker + 1])
