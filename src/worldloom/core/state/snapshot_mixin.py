"""What a simulation can do with its own past: keep it, go back to it, branch off from it, and write it down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from worldloom.core.state import copy_worlds as forks
from worldloom.core.state import snapshot
from worldloom.core.state.recorder import ReplayRecorder
from worldloom.core.state.snapshot import Snapshot, restore_worlds

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation


class SnapshotMixin:
    """The part of :class:`~worldloom.core.simulation.Simulation` that deals with snapshots, forks and recordings."""

    pristine: bool
    recorder: ReplayRecorder | None = None
    """What writes down the steps, where somebody has asked for it with :meth:`record`."""

    def snapshot(self, worlds: Any = None) -> Snapshot:
        """A copy of the state of all worlds, or of those whose numbers ``worlds`` lists, on the device.

        It is all that later steps depend on. Faults that ``errors`` has not told yet are no part of it.
        """
        return snapshot.snapshot(self._simulation(), worlds)

    def restore(self, snapshot: Snapshot, worlds: Any = None) -> None:
        """Go on from a snapshot: the steps that follow give the same bits. InputError where it does not fit, and nothing has changed.

        Args:
            snapshot: Of the same world, from :meth:`snapshot` or ``Snapshot.load``.
            worlds: Numbers of the worlds that the snapshot's worlds are put onto, one after the other; or onto all of them, where it
                holds one. None restores the whole batch. A world draws its random numbers with its own number, so it goes on with
                the same chances only in its own place.
        """
        restore_worlds(self._simulation(), snapshot, worlds)

    def copy_worlds(self, sources: Any, targets: Any) -> None:
        """Make the worlds ``targets`` copies of ``sources``: of one world, or of one each, as if all were copied at once.

        Everything is copied: state, seed, episode, step, and configuration that is set per world. Each copy keeps its own number,
        with which it draws its random numbers: copies share the rules and the past, not the chances to come. Numbers that lie
        on a GPU are not looked at, so that nothing waits for it, unless the worlds share the rows of a population: InputError
        where the copies do not fit into them, and nothing has changed.
        """
        forks.copy_worlds(self._simulation(), sources, targets)

    def record(
        self, *, every: int = 64, last: int | None = None, worlds: Any = None, verify: bool = True
    ) -> ReplayRecorder:
        """Write down all steps from now on, so that any episode of any world can be played again alone.

        Args:
            every: Steps between two snapshots. A replay begins at one of them, and steps are held on the device until the next.
            last: Keep this many of the last steps, or somewhat more; None keeps them all.
            worlds: Numbers of the worlds to write down; None for all.
            verify: Whether a digest of every world is written down with each step, so that a replay that differs is noticed.
        """
        return ReplayRecorder(self._simulation(), every=every, last=last, worlds=worlds, verify=verify)

    def note_external_change(self) -> None:
        """Somebody has changed the state between two steps."""
        self.pristine = False
        if self.recorder is not None:
            self.recorder.flush()

    def _simulation(self) -> Simulation:
        me = cast("Simulation", self)
        me._check_open()
        return me
