"""Helpers: the user's functions of numbers and vectors."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from worldloom.core.arithmetic.functions import to_interpreted
from worldloom.core.arithmetic.values import as_warp
from worldloom.core.base.source import Source
from worldloom.core.frontend import nodes
from worldloom.core.frontend.targets.accessors import numbers_code, type_code
from worldloom.core.frontend.targets.kernel_target import KernelTarget
from worldloom.core.frontend.targets.python_target import PythonTarget
from worldloom.core.frontend.targets.target import Target
from worldloom.core.frontend.translator import Translator, compile_python, function_text
from worldloom.core.frontend.user_functions import HelperFunction
from worldloom.core.model.columns import FaultSites, RowCounts
from worldloom.core.model.dtypes import canonical


class Helper(HelperFunction):
    """A function of numbers and vectors that systems and other helpers call; created by ``@wl.function``."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.parameters: dict[str, Any] = {}
        annotations = source.annotations()
        for argument in self.arguments():
            kind = canonical(annotations.get(argument.arg))
            if kind is None:
                raise source.error(
                    f"parameter '{argument.arg}' has no component type",
                    "annotate it with bool, int, float or a vector type; helpers take no entities",
                    argument,
                )
            self.parameters[argument.arg] = kind
        self.returns: Any = canonical(annotations.get("return"))
        self.returns = self.translate(KernelTarget("", RowCounts({}), False, "", FaultSites(), {})).returns
        if self.returns is None:
            raise source.error("a helper returns a value", "add a return statement", source.tree)

    def translate(self, target: Target) -> Translator:
        """Run the translation for ``target``."""
        flow = Translator(self.source, target)
        flow.in_helper = True
        flow.returns = target.width(self.returns)
        flow.locals.update({name: target.width(kind) for name, kind in self.parameters.items()})
        assert flow.assigned is not None
        flow.assigned |= set(self.parameters)
        flow.run()
        if flow.assigned is not None:
            raise self.source.error(
                "a helper must return a value on every path", "end it with a return statement", self.source.tree
            )
        return flow

    def translated(
        self, types: dict[str, Any] | None = None, exact: bool = False, narrow: bool = False
    ) -> tuple[KernelTarget, Translator]:
        """A translation to a Warp function."""
        target = KernelTarget(
            "", RowCounts({}), False, "", FaultSites(), {} if types is None else types, exact=exact, narrow=narrow
        )
        return target, self.translate(target)

    def kernel_code(
        self, types: dict[str, Any], exact: bool = False, narrow: bool = False, arrays: frozenset[str] = frozenset()
    ) -> tuple[str, dict[str, Helper]]:
        """The source of the Warp function, and the helpers it calls.

        The parameters ``arrays``, which are vectors that it only indexes, get arrays of their numbers.
        """
        target, flow = self.translated(types, exact, narrow)
        start: list[ast.stmt] = [nodes.assign(f"v_{n}", nodes.name(f"p_{n}")) for n in self.parameters]
        start += flow.declarations(types, skip=set(self.parameters))
        kinds = {name: target.width(kind) for name, kind in self.parameters.items()}
        head = ", ".join(f"p_{n}: {numbers_code(k) if n in arrays else type_code(k, types)}" for n, k in kinds.items())
        return function_text(f"wl_helper_{self.key}", head, start + flow.body), target.helpers

    def python_function(self, exact: bool = False) -> Callable[..., Any]:
        """The helper as a Python function."""
        target = PythonTarget("", exact=exact)
        return compile_python(self.source, self.translate(target), list(self.parameters), target, None)

    def __call__(self, *arguments: Any) -> Any:
        if len(arguments) != len(self.parameters):
            raise TypeError(f"{self.name}() takes {len(self.parameters)} arguments, not {len(arguments)}")
        with np.errstate(all="ignore"):
            return as_warp(
                self.python_function()(
                    *[to_interpreted(kind, a) for a, kind in zip(arguments, self.parameters.values(), strict=True)]
                )
            )
