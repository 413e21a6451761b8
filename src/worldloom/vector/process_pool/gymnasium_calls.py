"""The methods of a process pool that Gymnasium's ``AsyncVectorEnv`` has."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import VectorEnv

from worldloom.core.base.errors import InputError
from worldloom.vector.checks import StepResult, check_reset_options, check_timeout
from worldloom.vector.errors import NoCallError, PendingCallError, WaitTimeoutError
from worldloom.vector.process_pool.arguments import Seeds, check_mask
from worldloom.vector.process_pool.shared_memory import PoolMemory, has_fixed_shape
from worldloom.vector.process_pool.supervisor import Supervisor
from worldloom.vector.process_pool.workers import WorkerSet


class GymnasiumCalls(VectorEnv):  # type: ignore[misc]
    """Resets, steps and calls of all environments: at once, or begun by one method and finished by another."""

    batch_size: int
    copy: bool
    _synchronous: bool
    _interrupted: bool
    _pending: str | None
    _memory: PoolMemory
    _supervisor: Supervisor
    _worker_set: WorkerSet
    _finalizer: Any

    def reset(self, *, seed: Seeds = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start new episodes.

        Args:
            seed: One seed, to which the id of the environment is added, or one per environment. By default every
                environment continues its random numbers; the first reset uses the pool's ``seed``.
            options: Passed to every environment, except ``reset_mask``: the environments to reset, bool (num_envs,).

        Returns:
            The observations of all environments, and the infos of those that were reset.
        """
        self._check_idle("reset")
        with self._track_interruption():
            self._begin_reset(seed, options)
            return self._finish_reset(None)

    def reset_async(self, seed: Seeds = None, options: dict[str, Any] | None = None) -> None:
        """Begin a :meth:`reset`, which :meth:`reset_wait` finishes."""
        self._check_idle("reset_async")
        with self._track_interruption():
            self._begin_reset(seed, options)
        self._pending = "reset"

    def reset_wait(self, timeout: float | None = None) -> tuple[Any, dict[str, Any]]:
        """The results of :meth:`reset_async`.

        Args:
            timeout: Seconds to wait at most; None for no limit. After a WaitTimeoutError the results are discarded.
        """
        self._take_pending("reset", timeout)
        with self._track_interruption():
            return self._finish_reset(timeout)

    def step(self, actions: Any, env_id: Any = None) -> StepResult:
        """Step every environment; in an asynchronous pool :meth:`send`, then :meth:`recv`.

        Args:
            actions: One action per environment, batched as in ``action_space``.
            env_id: Which environments they are for, (n,); all of them by default.

        Returns:
            Observations, rewards (n,), terminations (n,), truncations (n,) and infos.
        """
        self._check_idle("step")
        if not self._synchronous or env_id is not None:
            self.send(actions, env_id)
            return self.recv()
        with self._track_interruption():
            self._begin_step(actions)
            self._supervisor.collect(self._supervisor.wait_for_all())
        return self._results(None)

    def step_async(self, actions: Any) -> None:
        """Begin a :meth:`step` of all environments, which :meth:`step_wait` finishes."""
        self._check_idle("step_async")
        with self._track_interruption():
            self._begin_step(actions)
        self._pending = "step"

    def step_wait(self, timeout: float | None = None) -> StepResult:
        """The results of :meth:`step_async`.

        Args:
            timeout: Seconds to wait at most; None for no limit. After a WaitTimeoutError the results are discarded.
        """
        self._take_pending("step", timeout)
        with self._track_interruption():
            self._supervisor.collect(self._supervisor.wait_for_all(timeout))
        return self._results(None)

    def render(self) -> tuple[Any, ...]:
        """A frame of every environment."""
        return self.call("render")

    def call(self, name: str, *args: Any, **kwargs: Any) -> tuple[Any, ...]:
        """Call a method of every environment, or read an attribute, once pending steps are finished."""
        self._check_idle("call")
        self._begin_call(name, args, kwargs)
        return self._finish_call(None)

    def call_async(self, name: str, /, *args: Any, **kwargs: Any) -> None:
        """Begin a :meth:`call`, which :meth:`call_wait` finishes."""
        self._check_idle("call_async")
        self._begin_call(name, args, kwargs)
        self._pending = "call"

    def call_wait(self, timeout: float | None = None) -> tuple[Any, ...]:
        """The results of :meth:`call_async`.

        Args:
            timeout: Seconds to wait at most; None for no limit. After a WaitTimeoutError the results are discarded.
        """
        self._take_pending("call", timeout)
        return self._finish_call(timeout)

    def get_attr(self, name: str) -> tuple[Any, ...]:
        """An attribute of every environment; a WorkerAttributeError, an AttributeError, if one does not have it."""
        return self.call(name)

    def set_attr(self, name: str, values: Any) -> None:
        """Set an attribute of every environment: a list or tuple holds one value each, anything else applies to all."""
        self._check_idle("set_attr")
        each = list(values) if isinstance(values, (list, tuple)) else [values] * self.num_envs
        if len(each) != self.num_envs:
            raise InputError(f"set_attr needs one value for all environments or {self.num_envs}, not {len(each)}")
        self._supervisor.call_workers(
            "set", name, [[each[env_id] for env_id in ids] for ids in self._worker_set.env_ids]
        )

    @property
    def np_random_seed(self) -> Any:
        """The seed of the random numbers of every environment, a tuple."""
        return self.get_attr("np_random_seed")

    @property  # type: ignore[misc]
    def np_random(self) -> tuple[np.random.Generator, ...]:  # type: ignore[override]
        """Copies of the random number generators of all environments."""
        return self.get_attr("np_random")

    def close_extras(self, timeout: float | None = None, terminate: bool = False) -> None:
        """Close the workers.

        Args:
            timeout: Seconds after which workers that have not exited are killed.
            terminate: Whether to kill them at once.
        """
        if self._pending is not None:
            gymnasium.logger.warn(f"Calling `close` while waiting for a pending call to `{self._pending}` to complete.")
        self._finalizer.detach()
        timeout = 0.0 if terminate else timeout
        self._worker_set.shut_down() if timeout is None else self._worker_set.shut_down(timeout)

    # ---------------------------------------------------------------- private

    def _begin_reset(self, seed: Seeds, options: dict[str, Any] | None) -> None:
        """Submit resets. The environments to reset are kept for :meth:`_finish_reset`."""
        self._require_synchronous("async_reset")
        env_options = dict(check_reset_options(options, None))
        ids = np.arange(self.num_envs, dtype=np.int32)
        if "reset_mask" in env_options:
            ids = ids[check_mask(env_options.pop("reset_mask"), self.num_envs)]
            never = np.setdiff1d(np.flatnonzero(~self._supervisor.has_reset), ids)
            if never.size and not has_fixed_shape(self.single_observation_space):
                raise InputError(f"environment {never[0]} has no observation yet: reset all environments first")
        self._supervisor.discard_pending()
        self._reset(ids, seed, env_options)
        self._reset_ids = ids

    def _finish_reset(self, timeout: float | None) -> tuple[Any, dict[str, Any]]:
        self._supervisor.collect(self._supervisor.wait_for_all(timeout))
        ids = self._reset_ids
        return self._memory.observations.get_batch(None, self.copy), self._infos(ids, ids, self.num_envs)

    def _begin_step(self, actions: Any) -> None:
        self._require_synchronous("send")
        if self._interrupted:
            self._supervisor.discard_pending()
        self._send(actions, None)

    def _begin_call(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        if name in ("reset", "step", "close"):
            raise InputError(f"call('{name}') would bypass the pool: use {name}()")
        self._supervisor.begin_call("call", name, [(args, kwargs)] * len(self._worker_set.workers))

    def _finish_call(self, timeout: float | None) -> tuple[Any, ...]:
        return tuple(value for results in self._supervisor.finish_call(timeout) for value in results)

    def _require_synchronous(self, instead: str) -> None:
        if not self._synchronous:
            raise InputError(
                f"this pool returns {self.batch_size} of {self.num_envs} environments at a time: "
                f"call {instead}(), then recv()"
            )

    def _check_idle(self, name: str) -> None:
        """Raise ClosedError in a closed pool, and PendingCallError if a call has been begun and not been finished."""
        self._check_open()
        if self._pending is not None:
            raise PendingCallError(
                f"Calling `{name}` while waiting for a pending call to `{self._pending}` to complete: "
                f"call {self._pending}_wait() first",
                self._pending,
            )

    def _take_pending(self, name: str, timeout: float | None) -> None:
        """Note that the pending call ``name`` is being finished. Raises NoCallError if it has not been begun."""
        self._check_open()
        if self._pending != name:
            raise NoCallError(f"Calling `{name}_wait` without any prior call to `{name}_async`.", name)
        if timeout not in (None, 0):
            check_timeout(timeout)
        self._pending = None

    @contextlib.contextmanager
    def _track_interruption(self) -> Iterator[None]:
        """Record whether an exception has left results in flight."""
        try:
            yield
        except BaseException as error:
            self._interrupted |= isinstance(error, WaitTimeoutError) or not isinstance(error, InputError)
            raise
        self._interrupted = False

    def _check_open(self) -> None:
        raise NotImplementedError

    def _send(self, actions: Any, env_id: Any) -> None:
        raise NotImplementedError

    def _reset(self, ids: np.ndarray, seed: Seeds, options: dict[str, Any]) -> None:
        raise NotImplementedError

    def _results(self, ids: np.ndarray | None) -> StepResult:
        raise NotImplementedError

    def _infos(self, ids: np.ndarray, rows: np.ndarray, size: int) -> dict[str, Any]:
        raise NotImplementedError

    def send(self, actions: Any, env_id: Any = None) -> None:
        raise NotImplementedError

    def recv(self) -> StepResult:
        raise NotImplementedError
