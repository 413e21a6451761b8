"""Calls of a custom module: an error inside it is reported with the place and what the module was given."""

from __future__ import annotations

import os
import textwrap
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from worldloom.core.base.errors import InputError, WorldloomError
from worldloom.learn.config.json_files import short_repr

MAX_MESSAGE = 300
"""Characters of another library's message that are shown."""
_LIBRARY = os.path.dirname(torch.__file__)


def call_module(kind: str, method: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """``function(*arguments)``, where ``function`` is a method of a custom module of class ``kind``.

    Raises:
        InputError: If it raises an error, which is then the cause. Errors of worldloom and a lack of memory pass
            unchanged.
    """
    if torch.compiler.is_compiling():
        return function(*arguments)
    try:
        return function(*arguments)
    except (WorldloomError, torch.OutOfMemoryError):
        raise
    except Exception as error:  # of the user's code: anything
        message = textwrap.shorten(str(error), MAX_MESSAGE) or "no message"
        raise InputError(
            f"{kind}.{method} failed{_place(error)} with {type(error).__name__}: {message}; "
            f"it was given {', '.join(describe(value, types=True) for value in arguments)}: "
            "correct the module so that it takes these"
        ) from error


def require_module(module: Any) -> None:
    """InputError unless ``module`` is a PyTorch module with a method ``forward``."""
    if not isinstance(module, nn.Module):
        raise InputError(f"a network is an object of a class derived from torch.nn.Module, not {short_repr(module)}")
    if type(module).forward is nn.Module.forward:
        raise InputError(f"{type(module).__name__} has no method forward: give it forward(observations)")


def describe(value: Any, types: bool = False) -> str:
    """A value that a custom module was given or returned, in words; with ``types`` also the types of tensors."""
    if isinstance(value, Tensor):
        return f"a tensor {tuple(value.shape)}" + f" of {str(value.dtype).removeprefix('torch.')}" * types
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    if isinstance(value, Mapping):
        return f"a dictionary of {', '.join(f'{name!r}: {describe(part, types)}' for name, part in value.items())}"
    return f"a {type(value).__name__}"


def _place(error: Exception) -> str:
    """The line of the module that raised ``error``; empty where it is in PyTorch itself."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if not f.filename.startswith(_LIBRARY) and f.filename != __file__]
    return f" in {os.path.basename(own[-1].filename)}, line {own[-1].lineno}," if own else ""
