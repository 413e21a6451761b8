"""Checks and conversions of a process pool's arguments."""

from __future__ import annotations

import importlib
import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import gymnasium
import numpy as np

from worldloom.core.base.arrays import to_numpy
from worldloom.core.base.errors import InputError
from worldloom.vector.errors import ArgumentTypeError, UnknownEnvError

Factory = Callable[[], gymnasium.Env[Any, Any]]
Seeds = int | Sequence[int | None] | None
MAX_ENVS = 2**20
"""Each environment is a separate object in a worker process."""


@dataclass(frozen=True)
class WorkerPlan:
    """What the workers of a pool are started with.

    Attributes:
        starts: The first environment of every worker, and the number of environments at the end.
        payloads: The pickled factories and settings of every worker.
        seeds: The pool's seeds, see :func:`seeds_per_env`; None without.
    """

    starts: list[int]
    payloads: list[bytes]
    seeds: np.ndarray | None

    @property
    def env_slices(self) -> list[slice]:
        """The environments of every worker."""
        return [slice(first, last) for first, last in itertools.pairwise(self.starts)]


def check_count(name: str, value: Any, largest: int) -> int:
    """``value`` as an int from 1 to ``largest``."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value <= largest:
        raise InputError(f"{name} is a whole number from 1 to {largest}, not {value!r}")
    return int(value)


def count_envs(factories_or_id: Any, num_envs: Any) -> Any:
    """The number of environments: ``num_envs``, or by default that of a list of functions, or 1."""
    if num_envs is not None:
        return num_envs
    is_list = isinstance(factories_or_id, Sequence) and not isinstance(factories_or_id, str)
    return len(factories_or_id) if is_list else 1


def check_mask(mask: Any, num_envs: int) -> np.ndarray:
    """``reset_mask`` as a bool array (num_envs,) with at least one True."""
    array, name = to_numpy(mask, "reset_mask"), "`options['reset_mask']`"
    if array.shape != (num_envs,):
        raise InputError(f"{name} must have shape `({num_envs},)`, got {array.shape}")
    if array.dtype != np.bool_:
        raise ArgumentTypeError(f"{name} must have `dtype=np.bool_`, got {array.dtype}")
    if not array.any():
        raise InputError(f"{name} must contain a boolean array with at least one True value, got reset_mask={array}")
    return array


def seeds_per_env(seed: Seeds, num_envs: int) -> np.ndarray | None:
    """One seed per environment, Python integers or None in an array (num_envs,); None without seeds."""
    if seed is None:
        return None
    each = (
        [int(seed) + k for k in range(num_envs)]
        if isinstance(seed, (int, np.integer)) and not isinstance(seed, bool)
        else seed
    )
    if not isinstance(each, (Sequence, np.ndarray)) or len(each) != num_envs:
        raise InputError(f"seed is a whole number or one per environment ({num_envs}), not {seed!r}")
    if not all(s is None or (isinstance(s, (int, np.integer)) and not isinstance(s, bool) and s >= 0) for s in each):
        raise InputError(f"seeds are whole numbers of 0 or more, not {seed!r}")
    return np.array([None if s is None else int(s) for s in each], object)


def restart_seeds(seeds: np.ndarray | None, env_slices: list[slice], worker: int, restarts: int) -> list[int | None]:
    """Seeds for the environments of a replacement worker: derived from the pool's seeds, and new at each restart."""
    envs = env_slices[worker]
    if seeds is None:
        return [None] * (envs.stop - envs.start)
    return [int(np.random.SeedSequence([seed or 0, restarts]).generate_state(1)[0]) for seed in seeds[envs].tolist()]


def make_factories(
    factories_or_id: str | Factory | Sequence[Factory], num_envs: int, env_kwargs: dict[str, Any] | None
) -> tuple[list[Any], Any]:
    """One factory per environment, and the spec if there is one.

    An id is resolved here, because the user's program registers ids in this process only.
    """
    if isinstance(factories_or_id, str):
        module, _, name = factories_or_id.rpartition(":")
        if module:
            try:
                importlib.import_module(module)
            except (ImportError, ValueError) as error:
                raise InputError(f"the module '{module}' of {factories_or_id!r} cannot be imported: {error}") from None
        try:
            spec = gymnasium.spec(name)
        except gymnasium.error.Error as error:
            raise UnknownEnvError(f"Gymnasium has no environment {factories_or_id!r}: {error}") from None
        return [(spec, env_kwargs or {})] * num_envs, spec
    if env_kwargs:
        raise InputError(
            "env_kwargs are arguments for gymnasium.make: give an id with them, or bind them in the factory"
        )
    is_list = isinstance(factories_or_id, Sequence)
    factories = list(factories_or_id) if is_list else [factories_or_id] * num_envs  # type: ignore[arg-type]
    if len(factories) != num_envs or not all(callable(factory) for factory in factories):
        raise InputError(
            f"give an id, a function that makes an environment, or a list of {num_envs} such functions, "
            f"not {factories_or_id!r}"
        )
    return factories, None


def pickle_payload(payload: Any) -> bytes:
    """``payload`` as bytes for a worker process."""
    try:
        blob: bytes = cloudpickle.dumps(payload)
    except Exception as error:
        raise InputError(
            f"the factory cannot be sent to a worker process: {error}. "
            "Create everything inside it, instead of capturing it"
        ) from error
    return blob
