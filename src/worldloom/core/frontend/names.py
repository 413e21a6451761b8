"""Names: what a name in a system stands for, and the errors of those that stand for nothing."""

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
from worldloom.core.frontend.race_checks import Access
from worldloom.core.frontend.targets.target import Target
from worldloom.core.frontend.values import Value
from worldloom.core.model.fields import SCALARS, canonical, is_composite, scalar_of

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
"""What other libraries call a function, and what worldloom calls it."""

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
"""What other libraries call random numbers, and how a world draws them."""

MISSING: Any = object()
"""What is returned for a name that stands for no Python object."""


class Names:
    """The state of one translation, and its names. Subclassed by :class:`Expressions`."""

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
        self.turns: SharedLoop | None = None
        self.counters: dict[str, Bounds] = {}
        """The counters of the loops around the statement at hand, where it is known which numbers they run through."""
        self.draws: list[tuple[ast.Constant, int]] = []
        self.draw_count = 0
        self.held_rows: dict[str, str] = {}
        """Variables that hold the row of a reference, in order, and the text of that reference."""

    # -- errors ------------------------------------------------------------------------------------------------------

    def error(self, problem: str, fix: str, node: ast.AST) -> DefinitionError:
        return self.source.error(problem, fix, node)

    def written(self, node: ast.AST) -> str:
        """``node`` as the user wrote it, for messages: rows held in variables stand for what they were taken from."""
        text = ast.unparse(node)
        for name, origin in reversed(
            self.held_rows.items()
        ):  # the tenth before the first, whose name begins the tenth's
            text = text.replace(name, origin)
        return text

    def unsupported(
        self, what: str, node: ast.AST, fix: str = "see docs/python.md for the Python that systems may use"
    ) -> DefinitionError:
        return self.error(f"{what} is not supported in a system", fix, node)

    # -- names that stand for Python objects -------------------------------------------------------------------------

    def static(self, node: ast.expr) -> Any:
        """The Python object that a name or a dotted name stands for, or ``MISSING``."""
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
        """Raise DefinitionError for a name that a module does not have."""
        holder = self.static(node.value) if isinstance(node, ast.Attribute) else MISSING
        if isinstance(node, ast.Attribute) and isinstance(holder, ModuleType):
            raise self.error(f"there is no '{ast.unparse(node)}'", self._suggestion(holder, node), node)

    def _suggestion(self, holder: ModuleType, node: ast.Attribute) -> str:
        """What was probably meant by a name that ``holder`` does not have."""
        module = ast.unparse(node.value)
        if holder.__name__ == "worldloom":
            if node.attr in RANDOM_SYNONYMS:
                return f"random numbers belong to the world: write {RANDOM_SYNONYMS[node.attr]}"
            if node.attr in FUNCTION_SYNONYMS and hasattr(holder, FUNCTION_SYNONYMS[node.attr]):
                return f"did you mean '{module}.{FUNCTION_SYNONYMS[node.attr]}'?"
        near = difflib.get_close_matches(node.attr, dir(holder), n=1, cutoff=0.7)
        return (
            f"did you mean '{module}.{near[0]}'?"
            if near
            else "correct the name; docs/python.md lists the functions there are"
        )

    def static_value(self, found: Any, node: ast.expr) -> Value:
        """A constant of the user's module as a value."""
        if found is None:
            return Value(nodes.constant(None), None)
        if isinstance(found, enum.Enum) and isinstance(found.value, (int, float)):
            found = found.value
        if type(found) in SCALARS:
            found = SCALARS[type(found)](found.value)
        if isinstance(found, np.generic):
            kind = type_of(found)
            return Value(self.target.literal(found.item(), kind), kind)
        if isinstance(found, (bool, int, float)):
            return self.constant(found, node)
        kind = canonical(type(found))
        if kind is not None and is_composite(kind):
            numbers = [self.target.literal(n, scalar_of(kind)) for n in np.asarray(found).ravel().tolist()]
            return Value(self.target.construct(kind, numbers), kind)
        fix = "use numbers, vectors, wl.function helpers and worldloom's functions"
        if isinstance(found, (list, tuple, np.ndarray)):
            fix = f"make it a configuration of the world, '{node.id if isinstance(node, ast.Name) else 'table'}: wl.Config = np.array(...)', and read that"
        raise self.error(
            f"'{ast.unparse(node)}' is a Python object of type {type(found).__name__}, which a system cannot use",
            fix,
            node,
        )

    def constant(self, value: Any, node: ast.expr) -> Value:
        if value is None:
            return Value(nodes.constant(None), None)
        if isinstance(value, bool):
            return Value(nodes.constant(value), wp.bool, value)
        if isinstance(value, int):
            if not -(2**31) <= value < 2**32:
                raise self.error(
                    f"overflow: {value} does not fit into an int of 32 bits",
                    f"write wl.int64({value}) in the world's module",
                    node,
                )
            return Value(
                self.target.literal(value, wp.int32 if value < 2**31 else wp.uint32),
                wp.int32 if value < 2**31 else wp.uint32,
                value,
            )
        if isinstance(value, float):
            return Value(self.target.literal(value, wp.float32), wp.float32, value)
        raise self.unsupported(f"a constant of type {type(value).__name__}", node, "use numbers and truth values")
