"""Copies of process pools: ``copy.deepcopy`` and ``pickle``.

The environments are pickled in their workers. A pickle of a pool therefore holds pickles of the user's environments,
which new workers load.
"""

from __future__ import annotations

import functools
import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import cloudpickle  # type: ignore[import-untyped]
import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.vector.process_pool.arguments import pickle_payload
from worldloom.vector.process_pool.faults import WorkerError
from worldloom.vector.process_pool.shared_memory import INFO_TOO_LONG

if TYPE_CHECKING:
    from worldloom.vector.process_pool.pool import ProcessPool
    from worldloom.vector.process_pool.supervisor import Supervisor


@dataclass(frozen=True)
class SupervisorState:
    """The state of the shared memory and of its supervisor.

    Attributes:
        memory: The arrays and pickled values of the shared memory, by name.
        finished: The finished environments of every worker that have not been collected, in order.
        attributes: Attributes of the supervisor, by name.
    """

    memory: dict[str, Any]
    finished: list[np.ndarray]
    attributes: dict[str, Any]


_SUPERVISOR_ATTRIBUTES = ("in_flight", "has_reset", "_lost_steps", "restarts", "oversized_infos", "_first_worker")
_NOT_COPIED = ("_worker_set", "_finalizer", "_supervisor", "_memory")
"""Attributes of a pool that belong to its workers."""


def capture(pool: ProcessPool) -> bytes:
    """The state of a pool, once the environments in flight have finished.

    Raises:
        InputError: If an environment cannot be pickled.
    """
    supervisor = pool._supervisor
    supervisor.wait_for_all()
    try:
        envs = supervisor.call_workers("pickle", "", [None] * len(supervisor.worker_set.workers))
    except WorkerError as error:
        raise InputError(f"the environments of this pool cannot be copied: {error.faults[0].problem}") from error
    attributes = {name: value for name, value in pool.__dict__.items() if name not in _NOT_COPIED}
    return pickle_payload((attributes, envs, _capture_supervisor(supervisor)))


def _capture_supervisor(supervisor: Supervisor) -> SupervisorState:
    finished = [ring.contents() for ring in supervisor.completions]
    for env_id in np.concatenate(finished).tolist():
        if supervisor.memory.info_sizes[env_id] == INFO_TOO_LONG:
            supervisor.oversized_infos[env_id] = supervisor.receive_info(env_id)
    attributes = {name: getattr(supervisor, name) for name in _SUPERVISOR_ATTRIBUTES}
    return SupervisorState(supervisor.memory.save_state(), finished, attributes)


def restore_supervisor(supervisor: Supervisor, state: SupervisorState) -> None:
    """Restore the state before workers are attached: they continue the rings where these end."""
    supervisor.memory.load_state(state.memory)
    for k, ids in enumerate(state.finished):
        supervisor.submissions[k].reset_to(ids)
        supervisor.completions[k].reset_to(ids)
    supervisor.__dict__.update(state.attributes)


def rebuild(cls: type[ProcessPool], blob: bytes) -> ProcessPool:
    """The pool of :func:`capture`, with workers of its own."""
    attributes, envs, state = cloudpickle.loads(blob)
    pool = cls.__new__(cls)
    pool.__dict__.update(attributes)
    starts, autoreset = attributes["_plan"].starts, attributes["autoreset"]
    payloads = [
        pickle_payload(([functools.partial(pickle.loads, env) for env in worker_envs], first, autoreset))
        for worker_envs, first in zip(envs, starts, strict=False)
    ]
    pool._launch(payloads, state)
    pool.__dict__.update(attributes)  # such as spaces, which continue their random numbers
    return pool
