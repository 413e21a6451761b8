"""The state of a simulation: snapshots, copies of worlds and recordings."""

from __future__ import annotations

from typing import Any

from worldloom.core.runtime.simulation_part import SimulationPart
from worldloom.core.state import copy_worlds, snapshot
from worldloom.core.state.recorder import ReplayRecorder
from worldloom.core.state.snapshot import Snapshot, restore_worlds


class SnapshotMixin(SimulationPart):
    """The part of a simulation that takes snapshots, copies worlds and records steps."""

    pristine: bool
    recorder: ReplayRecorder | None = None
    """The running recording, started with :meth:`record`; None where there is none."""

    def snapshot(self, worlds: Any = None) -> Snapshot:
        """A copy of the state of all worlds, or of those with the indices ``worlds``, on the device.

        It holds everything that later steps depend on. Faults that ``errors`` has not returned yet are not part of it.
        """
        return snapshot.snapshot(self._simulation(), worlds)

    def restore(self, snapshot: Snapshot, worlds: Any = None) -> None:
        """Continue from a snapshot: the steps that follow give the same bits.

        Raises InputError, and changes nothing, where the snapshot does not fit.

        Args:
            snapshot: Of the same world, from :meth:`snapshot` or ``Snapshot.load``.
            worlds: Indices of the worlds to overwrite, one for each world of the snapshot, or any number where it holds
                one world. None restores the whole batch. Random numbers depend on the index of a world, so a world
                continues with the same random numbers only at its own index.
        """
        restore_worlds(self._simulation(), snapshot, worlds)

    def copy_worlds(self, sources: Any, targets: Any) -> None:
        """Make the worlds ``targets`` copies of ``sources``: of one world, or of one each.

        All copies are taken before any is written. Everything is copied: state, seed, episode, step, and configuration
            that is set per world. Each copy keeps its own index, on which its random numbers depend: copies share the
            rules and the past, but not the future random numbers. Indices on a GPU are not validated, which avoids a
            device synchronization. The exception are worlds that share the rows of a population: InputError, and no
            change, where the copies do not fit into the rows.
        """
        copy_worlds.copy_worlds(self._simulation(), sources, targets)

    def record(
        self, *, every: int = 64, last: int | None = None, worlds: Any = None, verify: bool = True
    ) -> ReplayRecorder:
        """Record all steps from now on, so that any episode of any world can be replayed alone.

        Args:
            every: Steps between two snapshots. A replay begins at one of them. Steps stay on the device until the next
                one.
            last: Keep this many of the last steps, or slightly more; None keeps all.
            worlds: Indices of the worlds to record; None for all.
            verify: Whether a digest of every world is recorded with each step, so that a replay that differs is
                detected.
        """
        return ReplayRecorder(self._simulation(), every=every, last=last, worlds=worlds, verify=verify)

    def note_external_change(self) -> None:
        """Note that the state was changed between two steps."""
        self.pristine = False
        if self.recorder is not None:
            self.recorder.flush()
