"""Errors of arguments that derive from what EnvPool raises there, too."""

from __future__ import annotations

from worldloom.core.base.errors import InputError


class ArgumentAssertionError(InputError, AssertionError):
    """An argument that EnvPool checks with ``assert``: a seed, a number of environments, a task or a type."""


class UseError(InputError, RuntimeError):
    """A call that EnvPool answers with a RuntimeError: wrong actions, or ``render`` without a render mode."""
