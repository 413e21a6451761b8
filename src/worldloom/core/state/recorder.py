"""Recorders: the steps of a running simulation, as snapshots at intervals and the actions between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from worldloom.core.base.errors import InputError
from worldloom.core.model.columns import WORLD
from worldloom.core.state.columns import int_view, require_rows_per_world, state_columns, world_ids
from worldloom.core.state.replay_log import Chunk, ReplayLog, Resets
from worldloom.core.state.snapshot import Snapshot, snapshot
from worldloom.core.state.world_digest import WorldDigest

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation

_RESET_COLUMNS = ("World.seed", "World.episode", "World.reset_mask")
"""Columns that a reset assigns. Resets are recorded as such."""


class ReplayRecorder:
    """Records the steps and resets of a simulation until it is stopped; made by ``Simulation.record``.

    Steps are buffered on the device and moved to the host ``every`` steps. Any other change of the worlds begins a new
    chunk with its own snapshot: a configuration set, a column assigned, worlds restored or copied. Writes into a
    column's memory through ``numpy()`` or ``torch()`` are not detected here; a replay detects them.
    """

    def __init__(self, simulation: Simulation, *, every: int, last: int | None, worlds: Any, verify: bool) -> None:
        import torch

        if simulation.recorder is not None:
            raise InputError("this simulation is being recorded already: stop the other recorder first")
        for name, value in (("every", every), ("last", 1 if last is None else last)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise InputError(f"{name} is a whole number of 1 or more, not {value!r}")
        require_rows_per_world(simulation)
        device = torch.device(str(simulation.device.alias))
        self.every, self.last = every, last
        self._simulation: Simulation | None = simulation
        self._ids = (
            np.arange(simulation.num_worlds)
            if worlds is None
            else world_ids(simulation, worlds, "worlds", distinct=True).cpu().numpy()
        )
        if not self._ids.size:
            raise InputError("no world is to be recorded: name one or more, or leave worlds out")
        self._rows: Any = slice(None) if worlds is None else torch.from_numpy(self._ids).to(device)
        count = len(self._ids)
        self._columns = {name: simulation.tables[t][f.name] for name, (t, f) in simulation.definition.actions().items()}
        self._actions = {
            n: torch.empty((every, count, *c.shape[1:]), dtype=c.torch().dtype, device=device)
            for n, c in self._columns.items()
        }
        self._flags: Any = torch.empty((every, count), dtype=torch.uint8, device=device)
        self._digest = WorldDigest(simulation, self._rows) if verify else None
        self._digests: Any = torch.empty((every, count), dtype=torch.int32, device=device) if verify else None
        self._watched = [
            column
            for name, column in state_columns(simulation).items()
            if name not in self._columns and name not in _RESET_COLUMNS
        ]
        self._state: Snapshot | None = None
        self._resets: list[tuple[int, Any, Any, Any]] = []
        self._steps = self._writes = 0
        self._chunks: list[Chunk] = []
        kind = "python" if simulation.interpreted else "cuda" if simulation.device.is_cuda else "cpu"
        self._log = ReplayLog(
            simulation.definition,
            simulation.autoreset,
            simulation.checks,
            simulation.exact,
            simulation.world_offset,
            kind,
            self._ids,
            [],
            simulation.kernels_for,
        )
        self._run_step, self._run_reset = simulation._run_step, simulation._run_reset
        simulation._run_step, simulation._run_reset = self._step, self._reset
        simulation.recorder = self

    @property
    def log(self) -> ReplayLog:
        """The log of the steps so far."""
        self.flush()
        return self._log.with_chunks(self._chunks)

    def stop(self) -> ReplayLog:
        """End the recording. The simulation continues without a recorder."""
        log = self.log
        if self._simulation is not None:
            self._simulation._run_step, self._simulation._run_reset = self._run_step, self._run_reset
            self._simulation.recorder = None
            self._simulation, self._run_step, self._run_reset = None, _nothing, _nothing
            self._columns, self._actions, self._watched = {}, {}, []  # so that their memory can be freed
            self._flags = self._digests = self._digest = None
        return log

    def __enter__(self) -> ReplayRecorder:
        return self

    def __exit__(self, *details: object) -> None:
        self.stop()

    def flush(self) -> None:
        """Move the buffered steps to the host. The next step begins with a snapshot."""
        if self._state is not None and self._steps:
            used = slice(0, self._steps)
            digests = None if self._digests is None else _to_host(self._digests[used])
            actions = {name: _to_host(buffer[used]) for name, buffer in self._actions.items()}
            resets = Resets.of(self._resets, len(self._ids))
            self._chunks.append(Chunk(self._state.to("cpu"), actions, _to_host(self._flags[used]), digests, resets))
            while self.last is not None and sum(len(chunk) for chunk in self._chunks[1:]) >= self.last:
                del self._chunks[0]
        self._state, self._resets, self._steps = None, [], 0

    def _begin(self, simulation: Simulation) -> None:
        """Take a snapshot where the next step does not follow the steps in the buffer, or the buffer is full."""
        writes = sum(column.write_count for column in self._watched)
        full = self._steps == self.every or len(self._resets) > self.every
        if self._state is not None and (writes != self._writes or full):
            self.flush()
        if self._state is None:
            self._state = snapshot(simulation, None if isinstance(self._rows, slice) else self._rows)
        self._writes = writes

    def _step(self) -> None:
        simulation = self._live()
        self._begin(simulation)
        at = self._steps
        for name, column in self._columns.items():
            int_view(self._actions[name][at]).copy_(int_view(column.torch())[self._rows])
        try:
            self._run_step()
        except BaseException:
            self.flush()  # the step may have run in part: the next one begins with a snapshot
            raise
        flags = self._flags[at]
        flags.copy_(simulation.truncated.torch()[self._rows])
        flags.mul_(2).add_(simulation.terminated.torch()[self._rows])
        if self._digest is not None:
            self._digests[at].copy_(self._digest())
        self._steps += 1

    def _reset(self) -> None:
        simulation = self._live()
        self._begin(simulation)
        world = simulation.tables[WORLD]
        mask, seeds, episodes = (
            int_view(world[name].torch())[self._rows].clone() for name in ("reset_mask", "seed", "episode")
        )
        self._resets.append((self._steps, mask, seeds, episodes))
        self._run_reset()

    def _live(self) -> Simulation:
        import torch

        assert self._simulation is not None
        if self._simulation.device.is_cuda and torch.cuda.is_current_stream_capturing():
            problem = "a graph that is being captured cannot be recorded, since its later runs would go unseen"
            raise InputError(f"{problem}: stop the recorder first")
        return self._simulation


def _nothing() -> None:
    """The step and the reset of a recorder that was stopped."""


def _to_host(tensor: Any) -> Any:
    return tensor.to("cpu", copy=True)
