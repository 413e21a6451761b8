"""Typed expressions: the result of translating one expression of a world file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from worldloom.testing.reference.types import Component

if TYPE_CHECKING:
    from worldloom.testing.reference.tables import Run

Eval = Callable[["Run"], Any]
"""Evaluates an expression in one run of a system."""


@dataclass
class Typed:
    """A translated expression.

    Attributes:
        type: Its type; None for ``None``.
        run: Evaluates it.
        bare: The number of a literal; None for anything else.
        array: For an array component, the component and the row that holds it.
        parts: The elements of a tuple.
    """

    type: Any
    run: Eval
    bare: Any = None
    array: tuple[Component, Eval] | None = None
    parts: list[Typed] | None = None
