"""Names: the Python objects that names in a system refer to, and errors for unknown names."""

from __future__ import annotations

import ast
import builtins
import difflib
import enum
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
import warp as wp

from worldloom.core.arithmetic.functions import type_of
from worldloom.core.base.errors import DefinitionError
from worldloom.core.base.source import Source
from worldloom.core.frontend import nodes
from worldloom.core.frontend.access import Access
from worldloom.core.frontend.targets.target import Target
from worldloom.core.frontend.values import Value
from worldloom.core.model.dtypes import FLOATS, SCALARS, is_composite, scalar_of

if TYPE_CHECKING:
    from worldloom.core.frontend.bounds import Bounds
    from worldloom.core.frontend.shared_loop import SharedLoop

FUNCTION_SYNONYMS = {
    "norm": "length",
    "magnitude": "length",
    "unit": "normalize",
    "arctan2": "atan2",
    "arctan": "atan",
    "arcsin": "asin",
    "arccos": "acos",
    "absolute": "abs",
    "fabs": "abs",
    "minimum": "min",
    "maximum": "max",
    "clip": "clamp",
    "power": "pow",
    "mix": "lerp",
    "distance": "length",
}
"""Function names of other libraries, with the names in worldloom."""

RANDOM_SYNONYMS = {
    "random": "world.random()",
    "rand": "world.random()",
    "uniform": "world.random(low, high)",
    "randf": "world.random()",
    "normal": "world.normal(mean, spread)",
    "randn": "world.normal()",
    "gauss": "world.normal(mean, spread)",
    "randint": "world.integer(n)",
    "randi": "world.integer(n)",
    "integers": "world.integer(n)",
    "randrange": "world.integer(n)",
    "choice": "world.choice(array)",
    "shuffle": "world.shuffle(array)",
}
"""Random functions of other libraries, with the methods of a world."""

MISSING: Any = object()
"""Returned for a name that refers to no Python object."""


class Names:
    """The state of one translation, and its names. Subclassed by :class:`Conversions`."""

    def __init__(self, source: Source, target: Target) -> None:
        self.source = source
        self.target = target
        self.names = source.names()
        self.locals: dict[str, Any] = {}
        self.parameters: dict[str, Value] = {}
        self.assigned: set[Any] | None = set()
        self.stored = source.stored
        self.access = Access()
        self.world_system = False
        self.disjoint = False
        self.shared_loop: SharedLoop | None = None
        self.shared_loops: list[SharedLoop] = []
        """The shared loops translated so far."""
        self.auto_threads = False
        """Whether the engine chooses the number of threads per entity."""
        self.counters: dict[str, Bounds] = {}
        """Counters of the enclosing loops whose bounds are known."""
        self.draws: list[tuple[ast.Constant, int]] = []
        self.draw_count = 0
        self.temporary_count = 0
        """Temporary variables so far, which are numbered."""
        self.loop_depth = 0
        """How many loops enclose the current statement."""
        self.held_rows: dict[str, str] = {}
        """Variables that hold the row of a reference, in order of creation, with the text of the reference."""

    # -- errors ------------------------------------------------------------------------------------------------------

    def error(self, problem: str, fix: str, node: ast.AST) -> DefinitionError:
        return self.source.error(problem, fix, node)

    def source_text(self, node: ast.AST) -> str:
        """``node`` as the user wrote it, for messages: a variable that holds a row is replaced by its reference."""
        text = ast.unparse(node)
        for name, origin in reversed(self.held_rows.items()):  # wl_row10 before wl_row1, which is a prefix of it
            text = text.replace(name, origin)
        return text

    def unsupported(
        self, what: str, node: ast.AST, fix: str = "see docs/python.md for the Python that systems may use"
    ) -> DefinitionError:
        return self.error(f"{what} is not supported in a system", fix, node)

    # -- names of Python objects ----------- -------------------------------------------------------------------------

    def static(self, node: ast.expr) -> Any:
        """The Python object that a name or a dotted name refers to, or ``MISSING``."""
        if isinstance(node, ast.Name):
            if node.id in self.locals or node.id in self.parameters or node.id in self.stored:
                return MISSING
            return self.names.get(node.id, getattr(builtins, node.id, MISSING))
        if isinstance(node, ast.Attribute):
            holder = self.static(node.value)
            if isinstance(holder, ModuleType) or (isinstance(holder, type) and issubclass(holder, enum.Enum)):
                return getattr(holder, node.attr, MISSING)
            if isinstance(holder, enum.Enum) and node.attr == "value":
                return holder.value
            if holder is not MISSING and not isinstance(holder, type) and type_of(holder) is None:
                return getattr(holder, node.attr, MISSING)
        return MISSING

    def refuse_unknown_member(self, node: ast.expr) -> None:
        """Raise DefinitionError for a name that is missing in its module."""
        holder = self.static(node.value) if isinstance(node, ast.Attribute) else MISSING
        if isinstance(node, ast.Attribute) and isinstance(holder, ModuleType):
            raise self.error(f"there is no '{ast.unparse(node)}'", self._suggestion(holder, node), node)

    def _suggestion(self, holder: ModuleType, node: ast.Attribute) -> str:
        """The probable meaning of a name that is missing in ``holder``."""
        module = ast.unparse(node.value)
        if holder.__name__ == "worldloom":
            if node.attr in RANDOM_SYNONYMS:
                return f"random numbers belong to the world: write {RANDOM_SYNONYMS[node.attr]}"
            if node.attr in FUNCTION_SYNONYMS and hasattr(holder, FUNCTION_SYNONYMS[node.attr]):
                return f"did you mean '{module}.{FUNCTION_SYNONYMS[node.attr]}'?"
        near = difflib.get_close_matches(node.attr, dir(holder), n=1, cutoff=0.7)
        return f"did you mean '{module}.{near[0]}'?" if near else "correct the name; docs/python.md lists the functions"

    def static_value(self, constant: Any, node: ast.expr) -> Value:
        """A constant of the user's module as a value."""
        if constant is None:
            return Value(nodes.constant(None), None)
        if isinstance(constant, enum.Enum) and isinstance(constant.value, (int, float)):
            constant = constant.value
        if type(constant) in SCALARS:
            constant = SCALARS[type(constant)](constant.value)
        if isinstance(constant, np.generic):
            kind = self.target.width(type_of(constant))
            return Value(self.target.literal(constant.item(), kind), kind)
        if isinstance(constant, (bool, int, float)):
            return self.constant(constant, node)
        kind = self.target.component_type(type(constant))
        if kind is not None and is_composite(kind):
            numbers = [self.target.literal(n, scalar_of(kind)) for n in np.asarray(constant).ravel().tolist()]
            return Value(self.target.construct(kind, numbers), kind)
        fix = "use numbers, vectors, wl.function helpers and worldloom's functions"
        if isinstance(constant, (list, tuple, np.ndarray)):
            name = node.id if isinstance(node, ast.Name) else "table"
            fix = f"make it a configuration of the world, '{name}: wl.Config = np.array(...)', and read that"
        raise self.error(
            f"'{ast.unparse(node)}' is a Python object of type {type(constant).__name__}, which a system cannot use",
            fix,
            node,
        )

    def constant(self, value: Any, node: ast.expr) -> Value:
        if value is None:
            return Value(nodes.constant(None), None)
        if isinstance(value, bool):
            return Value(nodes.constant(value), wp.bool, value)
        if isinstance(value, int):
            if _is_wide(value):
                raise self.wide_literal_error(value, node)
            kind = wp.int32 if value < 2**31 else wp.uint32
            return Value(self.target.literal(value, kind), kind, value)
        if isinstance(value, float):
            return Value(self.target.literal(value, wp.float32), wp.float32, value)
        raise self.unsupported(f"a constant of type {type(value).__name__}", node, "use numbers and truth values")

    def wide_literal(self, node: ast.expr) -> int | None:
        """The value of an integer of more than 32 bits, literal or named; None for anything else."""
        value: Any = node.value if isinstance(node, ast.Constant) else self.static(node)
        return value if _is_wide(value) else None

    def wide_literal_error(self, value: int, node: ast.expr, kind: Any = None) -> DefinitionError:
        """The error for an integer of more than 32 bits; the fix names a constant of a type that holds it.

        ``kind`` is the type that the integer meets, where it is known.
        """
        types = [t for t in (wp.int64, wp.uint64) if np.iinfo(SCALARS[t]).min <= value <= np.iinfo(SCALARS[t]).max]
        if kind in FLOATS or not types:
            fix = "write it as a real number, with a decimal point"
        else:
            best = kind if kind in types else types[0]
            fix = f"define a constant in the world's module, such as NUMBER = wl.{best.__name__}({value}), and use it"
            if kind is None and len(types) > 1:
                fix += f"; NUMBER = wl.uint64({value}) where it meets a wl.uint64"
        return self.error(f"overflow: {value} does not fit into an int of 32 bits", fix, node)


def _is_wide(value: Any) -> bool:
    """Whether ``value`` is an integer that neither int32 nor uint32 holds."""
    return isinstance(value, int) and not isinstance(value, bool) and not -(2**31) <= value < 2**32
