"""Gymnasium environments in worker processes: the pool, its supervisor, worker start-up, shared memory and wake-ups.

Imports core.base, ``vector.checks`` and ``vector.errors`` only, and no worlds. The files that a worker process loads
(``worker_process``, ``shared_memory``, ``spsc_ring``, ``wakeup``) import nothing of worldloom.
"""

from typing import TYPE_CHECKING

from worldloom.core.base.deprecated_paths import forward_names
from worldloom.vector.process_pool.faults import Fault, WorkerError
from worldloom.vector.process_pool.pool import ProcessPool

__all__ = ["Fault", "ProcessPool", "WorkerError"]

if not TYPE_CHECKING:
    __getattr__ = forward_names(
        __name__,
        "worldloom.vector.process_pool.pool",
        "Factory",
        "Seeds",
        AUTORESET="AUTORESET_MODES",
        MOST_ENVS="MAX_ENVS",
        Results="StepResult",
    )
