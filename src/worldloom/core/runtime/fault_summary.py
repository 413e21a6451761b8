"""A summary of the faults of single worlds, and of the entities dropped for lack of capacity."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import warp as wp

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation


@dataclass(frozen=True)
class FaultSummary:
    """A summary of the faults of single worlds.

    Attributes:
        faults: Number of faults. A fault ends its episode; a world can have several in one step.
        first_fault: The message of the first fault that was kept; None where there was none.
        dropped: Number of entities that did not fit, by kind, for populations with ``overflow="drop"``.
    """

    faults: int = 0
    first_fault: str | None = None
    dropped: dict[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """One sentence about the faults and one about dropped entities; none where there were none."""
        sentences = []
        if self.faults:
            faults = "1 fault cut an episode" if self.faults == 1 else f"{self.faults:,} faults cut episodes"
            first = f"; the first: {self.first_fault}" if self.first_fault else ""
            sentences.append(f"{faults} short{first}. See docs/debug.md.")
        if self.dropped:
            dropped = " and ".join(f"{count:,} {kind}" for kind, count in self.dropped.items())
            fix = f"raise wl.UpTo for {' and '.join(self.dropped)} where they matter"
            sentences.append(f"{dropped} did not fit and were dropped: {fix}. See docs/populations.md.")
        return sentences


def read(simulations: Iterable[Simulation]) -> FaultSummary:
    """The faults of some simulations since they were last read. Synchronizes with the devices."""
    summaries = []
    for simulation in simulations:
        lost = simulation.faults_lost
        faults = simulation.errors()
        dropped = {
            name: int(simulation.tables[name].dropped.numpy().sum(dtype="int64"))
            for name, population in simulation.definition.populations.items()
            if population.limit.overflow == "drop"
        }
        count = len(faults) + simulation.faults_lost - lost
        first = str(faults[0]) if faults else None
        summaries.append(FaultSummary(count, first, {name: number for name, number in dropped.items() if number}))
    return merge_summaries(summaries)


def merge_summaries(parts: Iterable[FaultSummary]) -> FaultSummary:
    """One summary for several simulations or processes."""
    parts = list(parts)
    dropped: dict[str, int] = {}
    for part in parts:
        for kind, count in part.dropped.items():
            dropped[kind] = dropped.get(kind, 0) + count
    return FaultSummary(
        sum(part.faults for part in parts),
        next((part.first_fault for part in parts if part.first_fault), None),
        dropped,
    )


def fault_count(simulation: Simulation) -> Any:
    """Number of faults of a compiled simulation since it was made, without a device synchronization.

    Returns a PyTorch tensor, float64 of shape (1,).
    """
    import torch

    unread = [wp.to_torch(buffer)[0, :1] for buffer in simulation._fault_buffers]
    return torch.cat(unread).sum(dtype=torch.float64).reshape(1) + simulation.faults_read
