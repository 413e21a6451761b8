"""What a simulation can say about itself: how its systems became kernels, what they cost, and what would make them faster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from worldloom.core.base.errors import InputError

if TYPE_CHECKING:
    from worldloom.core.measure.explain import Explanation
    from worldloom.core.measure.profile import Profile
    from worldloom.core.measure.tune import Tuning
    from worldloom.core.simulation import Simulation


class ProfilingMixin:
    """The part of a simulation that explains, tunes and profiles it. Each is imported when it is first asked for."""

    def _simulation(self) -> Simulation:
        simulation = cast("Simulation", self)
        simulation._check_open()
        return simulation

    def explain(self) -> Explanation:
        """What was fused and what was not, with the reason, and the bytes that a step moves. Print it."""
        from worldloom.core.measure.explain import explain

        return explain(self._simulation())

    def tune(self, progress: Callable[[int, int], None] | None = None) -> Tuning:
        """Find the block size and register limit of each kernel that this GPU runs fastest, use them, and remember them on disk.

        The kernels run from the state that the worlds are in, which is put back: tune in the middle of episodes. On the CPU
        there is nothing to choose.

        Args:
            progress: Told how much is done, of how much in all.
        """
        from worldloom.core.measure.tune import tune

        self._check_not_recorded("tuned")
        return tune(self._simulation(), progress)

    def profile(
        self, steps: int = 100, actions: Sequence[Any] | None = None, progress: Callable[[int, int], None] | None = None
    ) -> Profile:
        """Measure where the time of a step goes: per kernel and per system, with the bytes they move. Print it, or save its trace.

        It takes real steps, callables of the schedule included, and then puts all columns back as they were.

        Args:
            steps: How many steps the trace holds.
            actions: What is handed to :meth:`step`, by turns; None leaves the actions as they lie in the columns.
            progress: Told how much is done, of how much in all.
        """
        from worldloom.core.measure.profile import profile

        self._check_not_recorded("profiled")
        return profile(self._simulation(), steps, actions, progress)

    def _check_not_recorded(self, what: str) -> None:
        """Steps that are taken only to be measured have no place in a recording."""
        if self._simulation().recorder is not None:
            raise InputError(f"a simulation that is being recorded cannot be {what}: stop the recording first")
