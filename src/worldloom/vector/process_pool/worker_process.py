"""A worker process: it owns some environments, and steps or resets them one after the other.

:mod:`worldloom.vector.process_pool.workers` starts it in a new interpreter, which loads this file and the four that it
imports without the rest of worldloom: a worker needs neither Warp nor a GPU. Messages therefore hold plain types only.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from multiprocessing.connection import Connection
from typing import Any

import cloudpickle  # type: ignore[import-untyped]
import gymnasium

from .pickled_values import dump
from .shared_memory import INFO_BYTES, INFO_TOO_LONG, PoolMemory
from .spsc_ring import SpscRing, scalar_view
from .wakeup import Wakeup

STEP, RESET, RESET_WITH_OPTIONS = 0, 1, 2
"""Kinds of request for one environment."""
ORPHAN_TIMEOUT_S = 2.0
"""Time limit for closing environments once the parent has exited."""


def main(index: int, control: int, memory: int, worker_wakeup: int, parent_wakeup: int) -> None:
    """Serve until the parent exits. The last four arguments are file descriptors."""
    for descriptor in (control, memory, worker_wakeup, parent_wakeup):
        os.set_inheritable(descriptor, False)
    threading.Thread(target=_exit_with_parent, args=(control,), daemon=True).start()
    worker = WorkerProcess(index, Connection(control), Wakeup(worker_wakeup, None), Wakeup(None, parent_wakeup))
    try:
        if worker.set_up(memory):
            worker.serve()
    except (EOFError, BrokenPipeError, ConnectionResetError):
        pass  # the parent has exited
    finally:
        worker.close()


def _exit_with_parent(control: int) -> None:
    """Kill this process group if closing takes too long after the parent has exited, as in a step that never ends."""
    poller = select.poll()
    poller.register(control, 0)  # hang-ups only
    poller.poll()
    time.sleep(ORPHAN_TIMEOUT_S)
    os.killpg(0, signal.SIGKILL)


class WorkerProcess:
    """The environments of one worker, and the loop that serves requests for them."""

    def __init__(self, index: int, control: Connection, worker_wakeup: Wakeup, parent_wakeup: Wakeup) -> None:
        self.index, self.control, self.worker_wakeup, self.parent_wakeup = index, control, worker_wakeup, parent_wakeup
        self.envs: dict[int, gymnasium.Env[Any, Any]] = {}
        self.options: dict[str, Any] | None = None

    def set_up(self, descriptor: int) -> bool:
        """Make the environments, send their spaces, and attach to the memory; False if they cannot be made."""
        factories, first, autoreset = cloudpickle.loads(self.control.recv_bytes())
        current = first
        try:
            for current, factory in enumerate(factories, first):
                self.send("begun", current, "was made")
                self.envs[current] = _make(factory)
            spaces = [(env.observation_space, env.action_space) for env in self.envs.values()]
            env = self.envs[first]
            self.send("made", spaces, dict(env.metadata), env.render_mode)
        except BaseException:
            self.send("raised", current, "was made", traceback.format_exc())
            return False
        self.same_step, self.next_step = autoreset == "same_step", autoreset == "next_step"
        memory_layout, seeds = self.control.recv()
        self.attach(PoolMemory(descriptor, **memory_layout))
        if seeds is not None:  # this worker replaces a failed one
            for current, seed in zip(list(self.envs), seeds, strict=True):
                self.send("begun", current, "was reset")
                try:
                    observation, _ = self.envs[current].reset(seed=seed, options=None)
                    self.memory.observations.put(current, observation)
                except BaseException:
                    self.send("raised", current, "was reset", traceback.format_exc())
                    return False
        self.send("ready")
        return True

    def attach(self, memory: PoolMemory) -> None:
        """Attach to the shared memory."""
        env_slice = memory.env_slice(self.index)
        self.memory = memory
        self.submissions = SpscRing(
            memory.submission_slots[env_slice], memory.submission_tails[self.index : self.index + 1]
        )
        self.completions = SpscRing(
            memory.completion_slots[env_slice], memory.completion_tails[self.index : self.index + 1]
        )
        self.completion_tails, self.target = scalar_view(memory.completion_tails), scalar_view(memory.target)
        self.request_kinds = scalar_view(memory.request_kinds)
        self.rewards, self.terminated, self.truncated = (
            scalar_view(memory.rewards),
            scalar_view(memory.terminated),
            scalar_view(memory.truncated),
        )
        self.restarted, self.info_sizes = scalar_view(memory.restarted), scalar_view(memory.info_sizes)
        self.infos = scalar_view(memory.infos.reshape(-1))
        self.busy_env, self.busy_since, self.requests_sent = (
            scalar_view(memory.busy_env),
            scalar_view(memory.busy_since),
            scalar_view(memory.requests_sent),
        )
        self.requests_handled = self.requests_sent[self.index]

    def serve(self) -> None:
        """Serve requests until the parent exits or an environment raises."""
        while True:
            current = self.submissions.pop()
            if current is None:
                if not self.worker_wakeup.wait():
                    return
                while self.requests_handled != self.requests_sent[self.index]:
                    self.requests_handled += 1
                    self.handle_request()
                continue
            self.busy_env[self.index] = current
            self.busy_since[self.index] = time.monotonic()
            try:
                info = self.step_or_reset(current)
                blob = dump(info) if info else b""
            except BaseException:
                doing = "was stepped" if self.request_kinds[current] == STEP else "was reset"
                self.send("raised", current, doing, traceback.format_exc())
                return
            self.busy_since[self.index] = 0.0
            self.write_info(current, blob)
            self.completions.push(current)
            if sum(self.completion_tails) >= self.target[0]:
                self.parent_wakeup.notify()

    def step_or_reset(self, current: int) -> dict[str, Any]:
        """Step or reset one environment. Results go to the shared memory, except for the info, which is returned."""
        env, kind = self.envs[current], self.request_kinds[current]
        reward: Any = 0.0
        terminated = truncated = False
        restarted, self.restarted[current] = self.restarted[current], False
        if kind != STEP:
            observation, info = env.reset(
                seed=self.memory.get_seed(current),
                options=self.options if kind == RESET_WITH_OPTIONS else None,
            )
        elif self.next_step and (self.terminated[current] or self.truncated[current]):
            observation, info = env.reset()
        elif restarted:  # its episode was lost with the failed worker, and a new one has begun
            self.rewards[current], self.terminated[current], self.truncated[current] = 0.0, False, True
            return {"restarted": True}
        else:
            observation, reward, terminated, truncated, info = env.step(self.memory.actions.get(current))
            if self.same_step and (terminated or truncated):
                self.memory.final_observations.put(current, observation)  # type: ignore[union-attr]
                final_info = _as_dict(info)
                observation, info = env.reset()
                if final_info:
                    info = {**_as_dict(info), "final_info": final_info}
        self.memory.observations.put(current, observation)
        self.rewards[current], self.terminated[current], self.truncated[current] = reward, terminated, truncated
        return _as_dict(info)

    def write_info(self, current: int, blob: bytes) -> None:
        """Write a pickled info to the shared memory, or to the socket if it is too long."""
        if len(blob) > INFO_BYTES:
            self.send("info", current, blob)
            self.info_sizes[current] = INFO_TOO_LONG
            return
        start = current * INFO_BYTES
        self.infos[start : start + len(blob)] = blob
        self.info_sizes[current] = len(blob)

    def handle_request(self) -> None:
        """Handle one request: ``options`` of resets, ``call`` a method, ``set`` an attribute, or ``pickle``."""
        request_id, verb, name, payload = self.control.recv()
        current = next(iter(self.envs))
        results: list[Any] = []
        try:
            if verb == "options":
                self.options = cloudpickle.loads(payload)
            elif verb == "call":
                arguments, keywords = cloudpickle.loads(payload)
                for current in self.envs:
                    attribute = self.envs[current].get_wrapper_attr(name)
                    results.append(attribute(*arguments, **keywords) if callable(attribute) else attribute)
            elif verb == "pickle":
                results.extend(dump(env) for env in self.envs.values())
            else:
                for current, value in zip(self.envs, cloudpickle.loads(payload), strict=True):
                    self.envs[current].set_wrapper_attr(name, value)
            self.send("reply", request_id, dump(results))
        except Exception as error:
            self.send("error", request_id, current, traceback.format_exc(), isinstance(error, AttributeError))

    def send(self, verb: str, *details: Any) -> None:
        """Send a message to the parent; it may hold spaces of user-defined classes."""
        self.control.send_bytes(dump((verb, *details)))

    def close(self) -> None:
        """Close the environments, and ignore their exceptions."""
        for env in self.envs.values():
            with contextlib.suppress(Exception):
                env.close()


def _as_dict(info: Any) -> dict[str, Any]:
    """The info that an environment returned; TypeError if it is no dictionary."""
    if type(info) is dict:
        return info
    if not isinstance(info, Mapping):
        raise TypeError(f"its info is of type {type(info).__name__}: step and reset return infos as dictionaries")
    return dict(info)


def _make(
    factory: Callable[[], gymnasium.Env[Any, Any]] | tuple[str | gymnasium.envs.registration.EnvSpec, dict[str, Any]],
) -> gymnasium.Env[Any, Any]:
    if isinstance(factory, tuple):
        id_or_spec, arguments = factory
        return gymnasium.make(id_or_spec, **arguments)
    return factory()
