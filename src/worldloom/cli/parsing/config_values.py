"""The values of ``--config NAME=VALUE``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from worldloom.core.base.errors import InputError

MAX_SHOWN = 80
"""Characters of an invalid text that the error message shows."""


def parse_literal(text: str) -> Any:
    """A number, truth value, tuple or list; any other text is a text."""
    literal = {"true": "True", "false": "False"}.get(text.strip(), text.strip())
    try:
        return ast.literal_eval(literal)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return text.strip()


def parse_config_values(texts: Sequence[str]) -> dict[str, Any]:
    """Values by name, from ``("force=5.0", "is_slippery=False")``.

    Raises:
        InputError: If a text has another form.
    """
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            if not equals or not name:
                raise ValueError
            literal = {"true": "True", "false": "False"}.get(value.strip(), value.strip())
            values[name.strip()] = ast.literal_eval(literal)
        except (ValueError, SyntaxError, RecursionError, MemoryError):
            shown = repr(text) if len(repr(text)) <= MAX_SHOWN else f"{repr(text)[: MAX_SHOWN - 3]}..."
            raise InputError(
                "--config takes a name and a value, such as force=5.0, is_slippery=False or wind=(0.1,0.2), "
                f"not {shown}"
            ) from None
    return values
