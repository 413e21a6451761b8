"""Random functions of the world: ``@wl.function``s whose bodies replace their calls in systems.

A function belongs to one system and is written with that system's access to each component, so that the system stays
free of races.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from worldloom.testing.generator.statements import indented
from worldloom.testing.reference.types import BOOL, FLOAT, INT, Type

if TYPE_CHECKING:
    from worldloom.testing.generator.systems import SystemGenerator

MAX_NESTED = 2
"""Functions within functions."""


def call_function(maker: SystemGenerator) -> list[str] | None:
    """Write a function of the world, and a statement that calls it."""
    if maker.sort == "share" or maker.nested >= MAX_NESTED:
        return None
    rng = maker.rng
    number = len(maker.functions) + maker.nested
    name = f"{maker.name}_f{number}"
    known = [n for n in maker.names_of_rows if maker.chance(0.6)]
    extra = [(n, k) for n, k in maker.scope.rows if n not in maker.names_of_rows and maker.chance(0.7)][:1]
    takes = [rng.choice((INT, FLOAT, BOOL, maker.some_type())) for _ in range(rng.randint(0, 2))]
    takes = [t for t in takes if isinstance(t, Type) and t.scalar != "float16"]
    gives = [rng.choice((INT, FLOAT, BOOL, *takes)) for _ in range(rng.choice((0, 1, 1, 2)))]
    arguments = ["world", *known, *(n for n, _ in extra), *(maker.value(t, 1) for t in takes)]
    call = f"{name}({', '.join(arguments)})"
    maker.functions.append(_written(maker, name, known, extra, takes, gives))
    if not gives:
        return [call]
    targets = [t for t, k in maker.scope.writes if k == gives[0]]
    if len(gives) == 1 and targets and maker.chance(0.5):
        return [f"{rng.choice(targets)} = {call}"]
    results = [maker.fresh() for _ in gives]
    for result, kind in zip(results, gives, strict=True):
        maker.scope.read(kind, result)
        maker.scope.locals.append((result, kind))
    return [f"{', '.join(results)} = {call}"]


def _written(
    maker: SystemGenerator,
    name: str,
    known: list[str],
    extra: list[tuple[str, str]],
    takes: list[Type],
    gives: list[Type],
) -> str:
    """The text of a function of the rows ``known`` of the system, another row and some numbers."""
    outer = maker.scope, maker.leaving, maker.loops, maker.outer_loops, maker.counters, maker.left, maker.frozen
    maker.scope, maker.leaving, maker.counters, maker.frozen = type(maker.scope)(), "", [], set()
    maker.outer_loops, maker.loops = maker.outer_loops + maker.loops, 0
    maker.left = maker.rng.randint(2, 5)
    maker.nested += 1
    head = ["world: Field"]
    maker.enter_world()
    for row in known:
        kind, own = maker.names_of_rows[row]
        maker.enter(row, kind, own=own)
        head.append(f"{row}: {kind.name}")
    for row, kind_name in extra:
        maker.enter(row, maker.world.kind(kind_name), own=False)
        head.append(f"{row}: {kind_name}")
    for number, number_type in enumerate(takes):
        parameter = f"q{number}"
        maker.scope.read(number_type, parameter)
        maker.scope.locals.append((parameter, number_type))
        head.append(f"{parameter}: {number_type}")
    inner_rows, maker.names_of_rows = maker.names_of_rows, {n: maker.names_of_rows[n] for n in known}
    lines: list[str] = []
    for _ in range(maker.rng.randint(1, 3)):
        lines += maker.statement(2)
    if gives:
        lines.append(f"return {', '.join(maker.clamped(t, maker.value(t, 1)) for t in gives)}")
    maker.names_of_rows = inner_rows
    maker.nested -= 1
    maker.scope, maker.leaving, maker.loops, maker.outer_loops, maker.counters, maker.left, maker.frozen = outer
    return f"@wl.function\ndef {name}({', '.join(head)}):\n" + "\n".join(indented(lines))
