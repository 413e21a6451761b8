"""Observations beside resets: on a GPU both run at the same time.

With same-step autoreset a step observes all worlds, then resets those that finished and observes them again. They are
few, so each of their kernels takes a few microseconds on a GPU that is nearly idle, however many worlds there are.
Worlds share no memory. The worlds that go on are therefore observed by kernels of their own on a second stream, beside
the last observations, resets and first observations of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from worldloom.core.codegen.blocks import blocks_of, split_by_lifetime, stored_columns
from worldloom.core.codegen.fusion import FusedEntry, KernelGroup, TiledStages, read_columns, written_columns
from worldloom.core.codegen.shared_rows.coalescing import choose_columns
from worldloom.core.frontend.targets.kernel_function import KernelFunction
from worldloom.core.model.columns import WORLD, ColumnKey
from worldloom.core.model.launch import Mask
from worldloom.core.schedule.aliasing import ColumnAliases
from worldloom.core.schedule.entries import FINISHED, CompactionNode, GridNode, Schedule, SystemNode

MIN_KERNELS = 8
"""Kernels after the observations from which it pays to run them beside these: each takes 5 to 10 us, and those of the
last observations are added."""

Kernels = list[list[FusedEntry]]
"""The parts of a schedule, in lists of those that one kernel runs."""


def with_observations_beside(kernels: Kernels, schedule: Schedule) -> Kernels:
    """Split the observations of a step into those of worlds that go on, which run beside all that follows, and others.

    Kernels whose memory could meet are returned as they are, and those whose resets are few or none.
    """
    last = max((n for n, parts in enumerate(kernels) if _writes(parts, (WORLD, FINISHED[0]))), default=len(kernels))
    end = last + 1
    while end < len(kernels) and _observes(kernels[end], schedule):
        end += 1
    before, observations, following = kernels[: last + 1], kernels[last + 1 : end], kernels[end:]
    observed = [group for parts in observations for group in parts if isinstance(group, KernelGroup)]
    if not observed or len(following) < MIN_KERNELS or not _resets(following):
        return kernels
    if not _are_apart(observed, following, schedule.aliases):
        return kernels
    going_on: Mask = (FINISHED[0], not FINISHED[1])
    return [*before, *_masked(observations, going_on, True), *_masked(observations, FINISHED, False), *following]


def _masked(kernels: Kernels, mask: Mask, beside: bool) -> Kernels:
    """Kernels of systems for the worlds of a mask, instead of all worlds."""
    masked: Kernels = []
    for parts in kernels:
        groups: list[FusedEntry] = []
        for part in parts:
            assert isinstance(part, KernelGroup)
            nodes = [replace(node, mask=mask) for node in part.nodes]
            groups.append(replace(part, nodes=nodes, functions=list(part.functions), beside=beside))
        masked.append(groups)
    return masked


def _resets(kernels: Kernels) -> bool:
    """Whether some kernels run for finished worlds: with same-step autoreset."""
    groups = [part for parts in kernels for part in parts if isinstance(part, KernelGroup)]
    return any(node.mask == FINISHED for group in groups for node in group.nodes)


def _observes(parts: Sequence[FusedEntry], schedule: Schedule) -> bool:
    """Whether a kernel can be split by worlds: it runs for all of them, through no list, and spawns nothing.

    Long observations that the threads of a warp collect and store together are those of all its worlds.
    """
    groups = [part for part in parts if isinstance(part, KernelGroup)]
    return (
        len(groups) == len(parts)
        and not any(group.where or group.pooled for group in groups)
        and all(
            node.mask is None and not node.system.access.spawns and not node.system.access.despawns
            for group in groups
            for node in group.nodes
        )
        and not choose_columns(groups, 1, schedule).columns
    )


def _are_apart(observed: Sequence[KernelGroup], following: Kernels, aliases: ColumnAliases) -> bool:
    """Whether what follows observations uses other memory than these, apart from that of finished worlds."""

    def in_memory(columns: Iterable[ColumnKey]) -> set[ColumnKey]:
        return {aliases.get(column, (column, 0))[0] for column in columns}

    reads = in_memory(c for group in observed for n, f in _systems(group) for c in read_columns(n, f))
    writes = in_memory(c for group in observed for f in group.functions for c in written_columns(f))
    for part in (part for parts in following for part in parts):
        if isinstance(part, CompactionNode):  # only finished worlds have changes left to apply
            if part.population.pooled:
                return False
        elif isinstance(part, GridNode):
            if part.mask != FINISHED:
                return False
        elif isinstance(part, KernelGroup):
            if part.where is not None or part.pooled:
                return False
            if writes & in_memory(_stored_anywhere(part)):
                return False
            for node, function in _systems(part):
                used, written = in_memory(read_columns(node, function)), in_memory(written_columns(function))
                if node.mask != FINISHED and (written & (reads | writes) or used & writes):
                    return False
        else:
            return False
    return True


def _stored_anywhere(group: KernelGroup) -> set[ColumnKey]:
    """The columns that a kernel holds in registers across several masks, and stores in all worlds: as they were, where
    no system has run. What another kernel has written there in the meantime would be lost.
    """
    blocks = blocks_of(group)
    return set(split_by_lifetime(blocks)[0]) & stored_columns(blocks, set(), {}) if len(blocks) > 1 else set()


def _systems(group: KernelGroup) -> Iterable[tuple[SystemNode, KernelFunction]]:
    return zip(group.nodes, group.functions, strict=True)


def _writes(parts: Sequence[FusedEntry], column: ColumnKey) -> bool:
    """Whether the systems of a kernel change a column."""
    groups = [part for part in parts if isinstance(part, (KernelGroup, TiledStages))]
    return any(column in written_columns(function) for group in groups for function in group.functions)
