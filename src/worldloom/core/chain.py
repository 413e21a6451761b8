"""Chains: on CUDA, neighbouring kernels become the parts of one.

Worlds never meet, so what a kernel boundary is for, that all rows have finished, is needed within a world alone. A block of threads takes
some whole worlds through one part after the other and waits in between, which costs less than to start a kernel. A step of a
small world with agents of several kinds is then one kernel.
"""

from __future__ import annotations

from dataclasses import replace

from worldloom.core.fields import Field
from worldloom.core.grouping import Group, Part
from worldloom.core.kernel_spec import KernelSpec
from worldloom.core.kernel_writer import KernelWriter
from worldloom.core.rewrite.kernel_target import FAULT_COLUMNS, WORLD, Column, column_name
from worldloom.core.schedule import HostNode

MOST_ROWS = 1024
"""Rows of one kind in a world up to which a block runs it; beyond, kernels of their own fill the device better."""
MOST_COLUMNS = 64
"""Columns that one kernel takes: the parameters of a kernel fill 4 KB at most, and a column takes 56 bytes of them."""
TEAMS = {64: 64, 128: 128, MOST_ROWS: 256}
"""Threads of a block by the most rows that it may have to run in one part; where there are more rows than threads, they take turns."""


def kernels(writer: KernelWriter, phase: str, parts: list[Part], chained: bool) -> list[KernelSpec | HostNode]:
    """The kernels of a schedule; neighbouring ones are chained where ``chained`` says so and where their rows are few."""
    out: list[KernelSpec | HostNode] = []
    run: list[tuple[int, Group]] = []

    def close() -> None:
        out.extend([_chain(writer, phase, run)] if len(run) > 1 else [writer.kernel(phase, number, group) for number, group in run])
        run.clear()

    for number, part in enumerate(parts):
        if chained and isinstance(part, Group) and _may_join(writer, part):
            if len(_columns([*(group for _, group in run), part])) > MOST_COLUMNS:
                close()
            run.append((number, part))
        else:
            close()
            out += writer.part(phase, number, part)
    close()
    return out


def _may_join(writer: KernelWriter, group: Group) -> bool:
    return group.population is None and group.pair is None and group.threads == 1 and group.rows <= MOST_ROWS and not writer.in_order(group)


def _columns(groups: list[Group]) -> set[Column]:
    """The columns that the systems of some kernels touch, those of faults included."""
    targets = [function.target for group in groups for function in group.functions]
    masks: set[Column] = {(WORLD, node.mask[0]) for group in groups for node in group.nodes if node.mask is not None}
    return {*masks, *FAULT_COLUMNS}.union(*({*target.inputs, *target.outputs, *target.columns} for target in targets))


def _chain(writer: KernelWriter, phase: str, run: list[tuple[int, Group]]) -> KernelSpec:
    """One kernel whose parts are the groups of ``run``."""
    most = max(group.rows for _, group in run)
    team = next(threads for rows, threads in TEAMS.items() if most <= rows)
    worlds = max(1, team // most)
    columns: dict[Column, Field] = {}
    lines = [f"team = thread / {team}", f"lane = thread - team * {team}"]
    specs: list[KernelSpec] = []
    for number, group in run:
        mine: dict[Column, Field] = {}
        body = writer.body(group, mine, "return")
        errors = any(f.target.faults for f in group.functions)
        name = f"{phase}_{number}_part"
        head = ["world: wp.int32", "row: wp.int32", "slot: wp.int32", "offset: wp.int32", *writer.taken(mine, errors)]
        writer.texts.append(f"@wp.func\ndef {name}({', '.join(head)}):\n" + "\n".join("    " + line for line in body) + "\n")
        if specs:
            lines.append("sync_block()")
        lines += _turns(group.rows, worlds, team, number)
        given = [f"world_{number}", f"world_{number} * {group.rows} + slot_{number}", f"slot_{number}", "offset", *map(column_name, mine)]
        lines.append(f"        {name}({', '.join([*given, 'errors'] if errors else given)})")
        columns.update(mine)
        specs.append(writer.described(group, name, group.rows, mine, errors))
    errors = any(spec.takes_errors for spec in specs)
    first = replace(
        specs[0],
        name=writer.write(f"{phase}_{run[0][0]}", columns, errors, False, lines, []),
        rows=most,
        columns=tuple(columns),
        takes_errors=errors,
        labels=tuple(label for spec in specs for label in spec.labels),
        bytes_read=sum(spec.bytes_read for spec in specs),
        bytes_written=sum(spec.bytes_written for spec in specs),
        loads=tuple(dict.fromkeys(column for spec in specs for column in spec.loads)),
        stores=tuple(dict.fromkeys(column for spec in specs for column in spec.stores)),
    )
    return replace(first, team=team, worlds=worlds)


def _turns(rows: int, worlds: int, team: int, number: int) -> list[str]:
    """The lines that find the rows of this thread in a part: at most one, or every ``team``-th of those of the block's worlds."""
    places = worlds * rows
    return [
        f"for place_{number} in range(lane, {places}, {team}):" if places > team else f"if lane < {places}:",
        *([] if places > team else [f"    place_{number} = lane"]),
        f"    world_{number} = first + team * {worlds} + place_{number} / {rows}",
        f"    slot_{number} = place_{number} % {rows}",
        f"    if world_{number} < first + rows:",
    ]
