"""Options of systems that exclude each other."""

from __future__ import annotations

from worldloom.core.base.source import Source


def refuse_options(
    source: Source, threads: int, over_pairs: bool, separate: bool, together: bool, concurrent: bool
) -> None:
    """Raise DefinitionError where a system cannot have all of its options; see :func:`worldloom.system`."""
    problem, fix = "", ""
    if together and separate:
        problem = "a system cannot have a kernel of its own and run together with others"
        fix = "leave 'separate' or 'together' out"
    elif concurrent and not together:
        problem = "a system runs at the same time as the next one only in the same kernel"
        fix = "add together=True to both, or leave 'concurrent' out"
    elif together and (threads > 1 or over_pairs):
        what = "a system over pairs" if over_pairs else f"a system with {threads} threads per entity"
        problem, fix = f"{what} cannot run together with others in one kernel", "leave 'together' out"
    if problem:
        raise source.error(problem, fix, source.tree)
