"""What went wrong in single worlds of a run, in a few numbers and words: faults, and entities for which there was no room."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import warp as wp

if TYPE_CHECKING:
    from worldloom.core.simulation import Simulation


@dataclass(frozen=True)
class FaultSummary:
    """What went wrong in single worlds.

    Attributes:
        faults: How many faults there were. They cut episodes short; several can befall one world in a step.
        first_fault: The first of those that were kept, in words; None where there was none.
        dropped: By kind, how many entities did not fit, where the world's rule for that is ``drop``.
    """

    faults: int = 0
    first_fault: str | None = None
    dropped: dict[str, int] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """As plain values for JSON."""
        return asdict(self)

    def lines(self) -> list[str]:
        """One sentence about the faults and one about what was dropped; none where nothing happened."""
        told = []
        if self.faults:
            many = "1 fault cut an episode" if self.faults == 1 else f"{self.faults:,} faults cut episodes"
            first = f"; the first: {self.first_fault}" if self.first_fault else ""
            told.append(f"{many} short{first}. docs/debug.md says how to look into them.")
        if self.dropped:
            many = " and ".join(f"{count:,} {kind}" for kind, count in self.dropped.items())
            told.append(
                f"{many} did not fit and were dropped: raise wl.UpTo for {' and '.join(self.dropped)} where they matter. docs/populations.md says more."
            )
        return told


def read(simulations: Iterable[Simulation]) -> FaultSummary:
    """What has gone wrong in the worlds of some simulations since their faults were read last. It waits for their devices."""
    found = []
    for simulation in simulations:
        lost = simulation.faults_lost
        faults = simulation.errors()
        dropped = {
            name: int(simulation.tables[name].dropped.numpy().sum(dtype="int64"))
            for name, population in simulation.definition.populations.items()
            if population.limit.overflow == "drop"
        }
        many = len(faults) + simulation.faults_lost - lost
        found.append(
            FaultSummary(
                many, str(faults[0]) if faults else None, {name: count for name, count in dropped.items() if count}
            )
        )
    return merge_summaries(found)


def merge_summaries(parts: Iterable[FaultSummary]) -> FaultSummary:
    """Those of several simulations or processes as one."""
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
    """How many faults a compiled simulation has had since it was made: a PyTorch tensor, float64 of shape (1,), for which nobody waits."""
    import torch

    waiting = [wp.to_torch(buffer)[0, :1] for buffer in simulation._fault_buffers]
    return torch.cat(waiting).sum(dtype=torch.float64).reshape(1) + simulation.faults_read
