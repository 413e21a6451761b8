"""Which compactions have several kernels."""

from __future__ import annotations

from typing import Any

from worldloom.core.codegen import compaction_large, compaction_pooled
from worldloom.core.codegen.compaction_kernel import CompactionKernel
from worldloom.core.model.columns import FaultSites
from worldloom.core.schedule.entries import CompactionNode, Schedule


def several_kernels(
    node: CompactionNode, schedule: Schedule, sites: FaultSites, types: dict[str, Any], cuda: bool, few_worlds: bool
) -> list[CompactionKernel]:
    """The kernels of the compaction of a pooled population, or on CUDA of a large one of few worlds; of others none.

    In many worlds, most of which change little, a thread for each row would cost more than a warp for each world.
    """
    fields = schedule.tables[node.population.table].fields
    if node.population.pooled:
        return compaction_pooled.compaction_kernels(node.population, fields, sites, types, cuda)
    if cuda and few_worlds and node.population.large and not node.spawned_in_order:
        return compaction_large.compaction_kernels(node.population, fields, sites, types)
    return []
