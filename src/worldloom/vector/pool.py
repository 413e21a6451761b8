"""An asynchronous pool of worlds: while some batches step on CPU threads, others are with the learner."""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector.utils import batch_space

from worldloom.core.errors import InputError
from worldloom.core.registry import Definition, definition
from worldloom.core.simulation import Simulation
from worldloom.vector.batch import Batch
from worldloom.vector.layout import layout

Outcome = tuple[Any, Any, Any, Any, dict[str, Any]]


class WorldPool:
    """``num_envs`` worlds in groups of ``batch_size``; each group steps as a whole, on a thread of its own, when all its actions are there.

    The interface is EnvPool's: ``async_reset``, then ``recv`` and ``send`` in turn; ``infos["env_id"]`` says which worlds came back.

    Args:
        world: The id of a registered world, or its definition.
        num_envs: How many worlds; a multiple of ``batch_size``.
        batch_size: How many come back at a time.
        timeout: Seconds after which ``recv`` gives up.
        device, seed, threads, config: As for :class:`worldloom.Simulation`; ``threads`` is how many groups step at once.
    """

    def __init__(
        self,
        world: str | Definition,
        num_envs: int,
        batch_size: int,
        *,
        device: str = "cpu",
        seed: int | Sequence[int] | None = None,
        threads: int | None = None,
        timeout: float = 60.0,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        if num_envs % batch_size:
            raise InputError(f"num_envs ({num_envs}) must be a multiple of batch_size ({batch_size})")
        made = definition(world) if isinstance(world, str) else world
        self.num_envs, self.batch_size, self.timeout = num_envs, batch_size, timeout
        outside = layout(made)
        self._batches = []
        for first in range(0, num_envs, batch_size):
            given = None if seed is None or not isinstance(seed, Sequence) else np.asarray(seed)[first : first + batch_size]
            sim = Simulation(
                made,
                batch_size,
                device,
                seed=seed if given is None else 0,  # type: ignore[arg-type]
                autoreset="next_step",
                threads=1,
                config=_rows(config, first, batch_size, num_envs),
                world_offset=first,
            )
            if given is not None:
                sim.reset(seeds=given)
            self._batches.append(Batch(sim, outside, "numpy", copy=True))
        self.single_observation_space, self.single_action_space = outside.observation_space, outside.action_space
        self.observation_space: gymnasium.Space[Any] = batch_space(outside.observation_space, batch_size)
        self.action_space: gymnasium.Space[Any] = batch_space(outside.action_space, batch_size)
        self._waiting: list[dict[int, Any]] = [{} for _ in self._batches]
        self._out = [False] * len(self._batches)
        self._jobs: queue.SimpleQueue[tuple[int, Any] | None] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[tuple[int, Outcome | Exception]] = queue.SimpleQueue()
        self._threads = [threading.Thread(target=self._work, daemon=True, name=f"worldloom-pool-{i}") for i in range(min(threads or 2, len(self._batches)))]
        for thread in self._threads:
            thread.start()
        self.closed = False

    def async_reset(self) -> None:
        """Start a new episode in every world; ``recv`` then gives the first observations, group by group."""
        self._check_open()
        if any(self._out):
            raise InputError("some worlds are still stepping: receive them all before async_reset")
        for group in range(len(self._batches)):
            self._out[group] = True
            self._jobs.put((group, None))

    def recv(self) -> Outcome:
        """The observations, rewards, terminations, truncations and infos of the next group that is done."""
        self._check_open()
        if not any(self._out):
            raise InputError("no world is stepping: call async_reset or send first")
        try:
            group, outcome = self._done.get(timeout=self.timeout)
        except queue.Empty:
            raise InputError(f"no group of worlds came back within {self.timeout:g} s: give a longer timeout, or look into the world's systems") from None
        self._out[group] = False
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def send(self, actions: Any, env_id: Any) -> None:
        """Hand in one action for each world of ``env_id``; a group steps when all its worlds have theirs."""
        self._check_open()
        ids = np.asarray(env_id)
        if ids.ndim != 1 or ids.dtype.kind not in "iu" or (ids.size and not (ids.min() >= 0 and ids.max() < self.num_envs)):
            raise InputError(f"env_id holds whole numbers from 0 to {self.num_envs - 1}, not {env_id!r}")
        rows = {k: np.asarray(v) for k, v in actions.items()} if isinstance(actions, Mapping) else np.asarray(actions)
        for place, world in enumerate(ids.tolist()):
            group, slot = divmod(world, self.batch_size)
            if self._out[group] or slot in self._waiting[group]:
                raise InputError(f"world {world} has its action already: receive it first")
            self._waiting[group][slot] = {k: v[place] for k, v in rows.items()} if isinstance(rows, dict) else rows[place]
        for group in {int(i) // self.batch_size for i in ids}:
            if len(self._waiting[group]) == self.batch_size:
                given = [self._waiting[group][slot] for slot in range(self.batch_size)]
                self._waiting[group] = {}
                self._out[group] = True
                stacked = {k: np.stack([g[k] for g in given]) for k in given[0]} if isinstance(given[0], dict) else np.stack(given)
                self._jobs.put((group, stacked))

    def step(self, actions: Any, env_id: Any) -> Outcome:
        """``send``, then ``recv``."""
        self.send(actions, env_id)
        return self.recv()

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            group, actions = job
            batch = self._batches[group]
            try:
                batch.simulation.reset() if actions is None else batch.step(actions)
                infos = batch.infos()
                infos["env_id"] = np.arange(group * self.batch_size, (group + 1) * self.batch_size, dtype=np.int32)
                self._done.put((group, (batch.observations(), batch.rewards(), batch.terminations(), batch.truncations(), infos)))
            except Exception as error:
                self._done.put((group, error))

    def _check_open(self) -> None:
        if self.closed:
            raise InputError("this pool is closed: make a new one")

    def close(self) -> None:
        """Stop the threads and give back the memory."""
        if self.closed:
            return
        self.closed = True
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(self.timeout)
        for batch in self._batches:
            batch.simulation.close()

    def __enter__(self) -> WorldPool:
        return self

    def __exit__(self, *details: object) -> None:
        self.close()


def _rows(config: Mapping[str, Any] | None, first: int, size: int, whole: int) -> dict[str, Any]:
    """The configuration of one group: values per world are cut, values for all stay."""
    return {k: v[first : first + size] if np.ndim(v) and len(v) == whole else v for k, v in (config or {}).items()}
