"""``EnvPool``: what the Gymnasium, gym and dm_env interfaces of a pool share."""

from __future__ import annotations

import functools
import math
import os
import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from worldloom.core.base.errors import InputError, WorldFault
from worldloom.core.base.not_copyable import NotCopyable
from worldloom.core.runtime import memory
from worldloom.core.simulation import Simulation
from worldloom.envpool import atari_tasks
from worldloom.envpool.actions import ActionConverter
from worldloom.envpool.arguments import Arguments
from worldloom.envpool.async_engine import AsyncEngine
from worldloom.envpool.errors import UseError
from worldloom.envpool.spec import EnvSpec
from worldloom.envpool.state import State
from worldloom.envpool.sync_engine import SyncEngine
from worldloom.envpool.world_group import WorldGroup
from worldloom.vector.checks import check_env_ids, check_render_mode
from worldloom.vector.errors import ClosedError
from worldloom.vector.world_batch import WorldBatch
from worldloom.vector.world_pool import group_config


class EnvPool(NotCopyable, ABC):
    """``num_envs`` environments. A subclass defines the form of results.

    Synchronous if ``batch_size`` equals ``num_envs``: results keep the order of the ids. Otherwise asynchronous.

    Args:
        spec: The spec of the task.
    """

    TIME_STEPS: ClassVar[bool] = False
    """Whether results hold the discounts and step types of dm_env."""

    def __init__(self, spec: EnvSpec) -> None:
        self.spec: Any = spec
        self._arguments = arguments = spec.arguments
        check_render_mode(arguments.render["render_mode"], arguments.definition, ("rgb_array",))
        self.config: dict[str, Any] = dict(arguments.config)
        self.all_env_ids = np.arange(arguments.num_envs, dtype=np.int32)
        self.is_async = arguments.batch_size != arguments.num_envs
        self._closed_pool = False
        self._engine: SyncEngine | AsyncEngine
        if self.is_async:
            size = math.gcd(arguments.num_envs, arguments.batch_size)
            groups = _create_groups(arguments, size, 1, self.TIME_STEPS)
            num_threads = self.config["num_threads"] or os.cpu_count() or 1
            self._engine = AsyncEngine(groups, arguments.batch_size, num_threads)
        else:
            threads = self.config["num_threads"] or None
            self._engine = SyncEngine(_create_groups(arguments, arguments.num_envs, threads, self.TIME_STEPS)[0])
        self._converter = ActionConverter(self._engine.groups[0].batch)

    def __len__(self) -> int:
        return len(self.all_env_ids)

    @abstractmethod
    def _to(self, state: State, reset: bool) -> Any:
        """A state in the form of this interface."""

    # -- EnvPool's functions ------------------------------------------------------------------------------------------

    def send(self, action: Any, env_id: Any = None) -> None:
        """Step the environments of ``env_id``, or all, each with its row of ``action``."""
        self._check_open()
        if isinstance(action, dict):
            action, env_id = self._converter.split_ids(action, env_id)
        ids = None if env_id is None else self._checked_ids(env_id)
        count = len(self.all_env_ids) if ids is None else len(ids)
        self._engine.send(self._converter.convert(action, count), ids)

    def recv(self, reset: bool = False, return_info: bool = True) -> Any:
        """The next ``batch_size`` results; in synchronous mode those of all environments that were sent an action.

        Args:
            reset: Whether the result has the form of ``reset`` instead of ``step``.
            return_info: Ignored, as in EnvPool.
        """
        self._check_open()
        return self._to(self._engine.recv(), reset)

    def step(self, action: Any, env_id: Any = None) -> Any:
        """``send``, then ``recv``."""
        self.send(action, env_id)
        return self._to(self._engine.recv(), False)

    def async_reset(self) -> None:
        """Reset all environments; ``recv`` returns their first observations."""
        self._check_open()
        self._engine.reset(None)

    def reset(self, env_id: Any = None) -> Any:
        """Reset the environments of ``env_id``, or all, then ``recv``."""
        self._check_open()
        self._engine.reset(None if env_id is None else self._checked_ids(env_id))
        return self._to(self._engine.recv(), True)

    def seed(self, seed: Any = None) -> None:
        """No effect, as in EnvPool: seeds are arguments of ``make``."""
        warnings.warn("seed() has no effect: pass seed to envpool.make", stacklevel=2)

    def render(self, env_ids: Any = None, camera_id: int | None = None) -> np.ndarray[Any, Any]:
        """Images of some environments, uint8 of shape (len(env_ids), height, width, 3).

        Args:
            env_ids: Ids; None for ``render_env_id`` of ``make``.
            camera_id: Ignored: a world has one camera.
        """
        self._check_open()
        render = self._arguments.render
        if render["render_mode"] is None:
            raise UseError("this pool renders nothing: make it with render_mode='rgb_array'")
        ids = check_env_ids(np.atleast_1d(render["render_env_id"] if env_ids is None else env_ids), len(self), "one")
        size = self._engine.groups[0].size
        images = []
        for id in ids.tolist():
            simulation = self._engine.groups[id // size].batch.simulation
            images.append(next(iter(self._arguments.definition.images(simulation, [id % size]))))
        frames = np.stack(images)
        if atari_tasks.is_atari(self._arguments.definition):
            frames = atari_tasks.fit_screen(frames)
        return _scale(frames, render["render_height"], render["render_width"])

    @functools.cached_property
    def _xla(self) -> tuple[Any, Any, Any, Any]:
        from worldloom.envpool.xla import make_xla

        return make_xla(self, self._engine, self._converter, self._to)

    def xla(self) -> tuple[Any, Any, Any, Any]:
        """``(handle, recv, send, step)`` for compiled JAX programs."""
        self._check_open()
        return self._xla

    # -- worldloom's own ----------------------------------------------------------------------------------------------

    @property
    def simulations(self) -> list[Simulation]:
        """The simulations of the worlds: one in synchronous mode, otherwise one per group."""
        return [group.batch.simulation for group in self._engine.groups]

    def errors(self) -> list[WorldFault]:
        """Faults of single environments since the last call, such as an invalid action; their episodes ended."""
        return [fault for simulation in self.simulations for fault in simulation.errors()]

    def close(self, **_: Any) -> None:
        """Stop the threads and release the memory."""
        if not self._closed_pool:
            self._closed_pool = True
            self._engine.close()

    def _check_open(self) -> None:
        if self._closed_pool:
            raise ClosedError("this pool is closed: make a new one")

    def _checked_ids(self, env_id: Any) -> np.ndarray[Any, Any] | None:
        """``env_id`` as an array; None if it holds all ids in their order."""
        ids = np.asarray(env_id)
        ids = ids.reshape(1) if ids.ndim == 0 else ids
        if ids.shape == self.all_env_ids.shape and (ids == self.all_env_ids).all():
            return None
        if not ids.size:
            raise InputError("env_id holds no id: name at least one environment")
        return check_env_ids(ids, len(self), "an environment")

    def __repr__(self) -> str:
        values = ", ".join(f"{name}={value!r}" for name, value in self.config.items())
        return f"{type(self).__name__}({self._arguments.definition.id}: {values})"


def _create_groups(arguments: Arguments, size: int, threads: int | None, time_steps: bool) -> list[WorldGroup]:
    """The environments of a pool in groups of ``size``."""
    groups: list[WorldGroup] = []
    per_env = not isinstance(arguments.seed, int)
    for first in range(0, arguments.num_envs, size):
        batch = WorldBatch.create(
            arguments.definition,
            size,
            arguments.device,
            seed=arguments.seed[first : first + size] if per_env else arguments.seed,  # type: ignore[index]
            autoreset="next_step",
            threads=threads,
            config=group_config(arguments.definition, arguments.world_config, first, size, arguments.num_envs),
            share=size != arguments.num_envs,
            world_offset=first,
            exact=arguments.exact,
        )
        groups.append(WorldGroup(batch, first, time_steps, arguments.frame_stack))
        if not first and size < arguments.num_envs:
            remaining = arguments.num_envs - size
            memory.require_bytes(
                remaining * batch.simulation.bytes_per_world,
                batch.simulation.device,
                f"{remaining:,} more worlds of '{arguments.definition.id}'",
            )
    return groups


def _scale(images: np.ndarray[Any, Any], height: int, width: int) -> np.ndarray[Any, Any]:
    """Images (n, h, w, 3) with the nearest pixels of another size; 0 keeps a side."""
    rows = np.arange(height or images.shape[1]) * images.shape[1] // (height or images.shape[1])
    columns = np.arange(width or images.shape[2]) * images.shape[2] // (width or images.shape[2])
    return images[:, rows][:, :, columns]
