"""Statements of engine systems that copy or clear several components of the own row at once."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING

from worldloom.core.frontend.values import Value

if TYPE_CHECKING:
    from worldloom.core.frontend.statements import Statements


@dataclass(frozen=True)
class CopyComponents:
    """Callable from the text of a system as ``copy(e, other)``, or as ``clear(e)``.

    Attributes:
        names: The components.
        lines: The same as statements for each component, for the names ``e`` and ``other`` of the call.
    """

    names: tuple[str, ...]
    lines: tuple[str, ...]


def translate_copy(flow: Statements, copy: CopyComponents, call: ast.Call) -> list[ast.stmt]:
    """The code of a call: one function of a warp where the target has one, otherwise the statements."""
    rows: list[Value] = [flow.expression(argument) for argument in call.args]
    components = [tuple(row.type.owner.fields[name] for row in rows) for name in copy.names]
    code = flow.target.copy_components(rows, components)
    if code is None:
        tree = ast.parse("\n".join(copy.lines)).body
        return flow.block([ast.fix_missing_locations(ast.copy_location(s, call)) for s in tree])
    for to, *of in components:
        flow.record_access(rows[0], to, "write", call)
        for field in of:
            flow.record_access(rows[1], field, "read", call)
    return code
