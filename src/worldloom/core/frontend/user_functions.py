"""Functions of the user that a decorator turned into helpers and systems: their common base classes."""

from __future__ import annotations

import ast
import sys
from typing import Any

from worldloom.core.base.source import Source


class UserFunction:
    """A decorated function of the user."""

    def __init__(self, source: Source) -> None:
        self.source, self.name = source, source.name
        self.__doc__, self.__name__ = source.function.__doc__, source.name

    def arguments(self) -> list[ast.arg]:
        """The parameters of the function; DefinitionError where one is not a plain name."""
        arguments = self.source.tree.args
        reserved = next((a for a in arguments.args if a.arg == "wp" or a.arg.startswith("wl_")), None)
        if reserved is not None:
            raise self.source.error(
                f"'{reserved.arg}' is a name reserved by the engine", "choose another name for the parameter", reserved
            )
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.posonlyargs or arguments.defaults:
            raise self.source.error(
                "parameters are plain names with annotations", "remove defaults, '*' and '/'", self.source.tree
            )
        return arguments.args


class HelperFunction(UserFunction):
    """A function that systems and other helpers call: the types of its parameters and of what it returns.

    Attributes:
        key: Its name in a world, in which helpers have different names. Those of a package with the attribute
            ``__helper_prefix__``, a library that users combine with helpers of their own, begin with it.
    """

    parameters: dict[str, Any]
    returns: Any

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.key = _helper_prefix(source.function.__module__ or "") + self.name


def _helper_prefix(module: str) -> str:
    """The prefix that a module or the nearest of its packages gives to helpers; empty where none does."""
    while module:
        prefix: str = getattr(sys.modules.get(module), "__helper_prefix__", "")
        if prefix:
            return prefix
        module = module.rpartition(".")[0]
    return ""


class ExpandedFunction(UserFunction):
    """A function of the world, whose body replaces its calls in systems."""


class SystemFunction(UserFunction):
    """A function that the engine calls."""
