"""Blocks of a kernel: systems in a row with one mask, and the columns that blocks keep in registers, load and store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from worldloom.core.codegen.fusion import FusedEntry, KernelGroup
from worldloom.core.frontend.targets.kernel_function import KernelFunction
from worldloom.core.frontend.targets.kernel_names import column_in_memory
from worldloom.core.model.columns import WORLD, ColumnKey
from worldloom.core.model.launch import LaunchNode, Mask
from worldloom.core.schedule.aliasing import ColumnAliases
from worldloom.core.schedule.entries import HostNode, Schedule, SystemNode

Block = tuple[Mask | None, list[tuple[SystemNode, KernelFunction]]]
"""A mask, and the systems that run under it."""
MemoryTraffic = tuple[list[ColumnKey], list[ColumnKey]]
"""The columns that a world loads and stores at each launch, repeated as often as it does."""


def blocks_of(group: KernelGroup) -> list[Block]:
    """The systems of a kernel, adjacent ones with the same mask together."""
    blocks: list[Block] = []
    for node, function in zip(group.nodes, group.functions, strict=True):
        if not blocks or blocks[-1][0] != node.mask:
            blocks.append((node.mask, []))
        blocks[-1][1].append((node, function))
    return blocks


def functions_of(blocks: Iterable[Block]) -> list[KernelFunction]:
    """The functions of all systems, in order."""
    return [function for _, nodes in blocks for _, function in nodes]


def early_exit(blocks: list[Block]) -> Mask | None:
    """The mask of all systems of the kernel. Threads of other worlds return at once."""
    return blocks[0][0] if len(blocks) == 1 else None


def split_by_lifetime(blocks: list[Block]) -> tuple[list[ColumnKey], list[list[ColumnKey]]]:
    """The columns held in registers through the whole kernel, and those held inside one masked block only."""
    users: dict[ColumnKey, set[int]] = {}
    for index, (mask, nodes) in enumerate(blocks):
        for _, function in nodes:
            for column in (*function.target.inputs, *function.target.outputs):
                users.setdefault(column, set()).add(index)
        if mask is not None:
            users.setdefault((WORLD, mask[0]), set()).add(-1)
    local: list[list[ColumnKey]] = [[] for _ in blocks]
    shared: list[ColumnKey] = []
    for column, indices in users.items():
        only = next(iter(indices))
        if len(indices) == 1 and only >= 0 and blocks[only][0] is not None:
            local[only].append(column)
        else:
            shared.append(column)
    return shared, local


def columns_to_load(blocks: list[Block], shared: list[ColumnKey]) -> list[ColumnKey]:
    """The shared columns that a system needs before an unmasked system has written them."""
    needed: list[ColumnKey] = []
    written: set[ColumnKey] = set()
    for mask, nodes in blocks:
        if mask is not None:
            needed += [c for c in [(WORLD, mask[0])] if c not in written and c not in needed]
        for _, function in nodes:
            used = [*function.target.inputs, *(function.target.outputs if mask is not None else ())]
            needed += [c for c in used if c in shared and c not in written and c not in needed]
            if mask is None:
                written |= set(function.target.outputs)
    needed.sort(key=lambda column: column == column_in_memory(column))  # raw actions first: clean ones derive from them
    exit_mask = early_exit(blocks)
    if exit_mask is None:
        return needed
    mask_column = (WORLD, exit_mask[0])
    mask_is_input = any(mask_column in f.target.inputs for f in functions_of(blocks))
    return [column for column in needed if column != mask_column or mask_is_input]


def in_branch(test: str, lines: list[str]) -> list[str]:
    """``lines`` where ``test`` holds; unchanged without a test."""
    return [f"if {test}:", *["    " + line for line in lines]] if test and lines else lines


def redundant_stores(blocks: list[Block], aliases: ColumnAliases) -> set[ColumnKey]:
    """Of the columns that share memory, those that a kernel need not store.

    If the observation is written last, its store covers the components. Otherwise the components alone are stored.
    """
    redundant: set[ColumnKey] = set()
    for whole in dict.fromkeys(owner for owner, _ in aliases.values()):
        parts = {part for part, (owner, _) in aliases.items() if owner == whole}
        outdated: set[Mask | None] = set()
        for mask, nodes in blocks:
            for _, function in nodes:
                outputs = set(function.target.outputs)
                if parts & outputs:
                    outdated.add(mask)
                elif whole in outputs:
                    outdated = set() if mask is None else outdated - {mask}
        redundant |= {whole} if outdated else parts
    return redundant


def stored_columns(blocks: list[Block], register_only: set[ColumnKey], aliases: ColumnAliases) -> set[ColumnKey]:
    """The columns that systems write and that memory must hold."""
    written = {c for function in functions_of(blocks) for c in function.target.outputs}
    return written - register_only - redundant_stores(blocks, aliases)


def seldom_changed(blocks: list[Block], loaded: Iterable[ColumnKey]) -> list[ColumnKey]:
    """Of the columns that a kernel loads at its start, those that none of its systems assigns on every path.

    Where its bits are the same, a kernel of a GPU need not store such a column. Kernels with masked systems have none.
    """
    targets = [function.target for function in functions_of(blocks)]
    if any(mask is not None for mask, _ in blocks):
        return []
    return [
        column
        for column in loaded
        if any(column in target.outputs for target in targets)
        and all(column in target.partial for target in targets if column in target.outputs)
    ]


def memory_traffic(blocks: list[Block], register_only: set[ColumnKey], aliases: ColumnAliases) -> MemoryTraffic:
    """The columns that every world loads and stores at each launch. Masked blocks do not count."""
    exit_mask = early_exit(blocks)
    if exit_mask is not None:
        return [(WORLD, exit_mask[0])], []
    shared, _ = split_by_lifetime(blocks)
    loads = list(dict.fromkeys(map(column_in_memory, columns_to_load(blocks, shared))))
    stored = stored_columns(blocks, register_only, aliases)
    stores = [c for c in shared if c in stored]
    if aliases:
        loads = list(dict.fromkeys(aliases.get(c, (c, 0))[0] for c in loads))
    for function in functions_of(block for block in blocks if block[0] is None):
        target = function.target
        loads += [c for c in target.columns if c not in target.local_write]
        stores += sorted(target.local_write | target.remote_write)
    return loads, stores


def register_only(parts: Sequence[FusedEntry], schedule: Schedule) -> set[ColumnKey]:
    """Transient columns that a single kernel uses: they stay in its registers.

    There are none beside callables of the schedule, which may read any column, as ``Simulation.starting`` does.
    """
    if any(isinstance(part, HostNode) for part in parts):
        return set()
    users: dict[ColumnKey, int] = {}
    for part in parts:
        if isinstance(part, LaunchNode):  # its kernels read memory, so the column cannot stay in registers
            users.update({column: users.get(column, 0) + 2 for column in part.columns})
        if not isinstance(part, KernelGroup):
            continue
        masks = {(WORLD, n.mask[0]) for n in part.nodes if n.mask is not None}
        chosen = {(part.nodes[0].table, part.where[0])} if part.where is not None else set()
        used = {*masks, *chosen}.union(
            *[{*f.target.inputs, *f.target.outputs, *f.target.columns} for f in part.functions]
        )
        for column in used:
            users[column] = users.get(column, 0) + 1
    return {c for c, n in users.items() if n == 1 and schedule.field_of(c).transient}
