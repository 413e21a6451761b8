"""Measurements of a simulation: how its systems became kernels, what they cost, and which settings are fastest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from worldloom.core.base.errors import InputError
from worldloom.core.runtime.simulation_part import SimulationPart

if TYPE_CHECKING:
    from worldloom.core.measure.explain import Explanation
    from worldloom.core.measure.profile import Profile
    from worldloom.core.measure.tune import Tuning


class ProfilingMixin(SimulationPart):
    """The part of a simulation that explains, tunes and profiles it. Each module is imported on first use."""

    def explain(self) -> Explanation:
        """Which systems were fused and which were not, with the reason, and the bytes that a step moves. Print it."""
        from worldloom.core.measure.explain import explain

        return explain(self._simulation())

    def tune(self, progress: Callable[[int, int], None] | None = None) -> Tuning:
        """Find the fastest block size and register limit of each kernel on this GPU, use them, and store them on disk.

        The kernels run from the current state, which is restored afterwards: tune in the middle of episodes. On the CPU
        there is nothing to tune.

        Args:
            progress: Called with the amount done and the total.
        """
        from worldloom.core.measure.tune import tune

        self._check_not_recorded("tuned")
        return tune(self._simulation(), progress)

    def profile(
        self, steps: int = 100, actions: Sequence[Any] | None = None, progress: Callable[[int, int], None] | None = None
    ) -> Profile:
        """Measure the time of a step per kernel and per system, with the bytes that they move.

        Print the result, or save its trace. It takes real steps, including the callables of the schedule, and then
        restores all columns.

        Args:
            steps: Number of steps in the trace.
            actions: Arguments of :meth:`step`, used in rotation; None keeps the actions in the columns.
            progress: Called with the amount done and the total.
        """
        from worldloom.core.measure.profile import profile

        self._check_not_recorded("profiled")
        return profile(self._simulation(), steps, actions, progress)

    def _check_not_recorded(self, what: str) -> None:
        """Steps that are taken only for a measurement must not be recorded."""
        if self._simulation().recorder is not None:
            raise InputError(f"a simulation that is being recorded cannot be {what}: stop the recording first")
