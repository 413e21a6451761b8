"""Errors of environments that are worldloom's and Gymnasium's: programs may catch either."""

from __future__ import annotations

import multiprocessing

from gymnasium import error

from worldloom.core.base.errors import InputError


class ClosedError(InputError, error.ClosedEnvironmentError):
    """A call of an environment or a pool after ``close``."""


class PendingCallError(InputError, error.AlreadyPendingCallError):
    """A call while another one has been started and not been waited for.

    Attributes:
        name: The call that is pending: ``reset``, ``step`` or ``call``.
    """

    def __init__(self, message: str, name: str) -> None:
        Exception.__init__(self, message)
        self.name = name


class NoCallError(InputError, error.NoAsyncCallError):
    """A wait for a call that has not been started.

    Attributes:
        name: The call that is missing: ``reset``, ``step`` or ``call``.
    """

    def __init__(self, message: str, name: str) -> None:
        Exception.__init__(self, message)
        self.name = name


class NotResetError(InputError, error.ResetNeeded):
    """A step of an environment that has not been reset, or whose episode is over."""


class InvalidActionError(InputError, error.InvalidAction, AssertionError):
    """An action outside of the action space."""


class UnknownEnvError(InputError, error.UnregisteredEnv):
    """An id that Gymnasium does not know."""


class SpacesError(InputError, RuntimeError):
    """Environments of one pool whose spaces do not fit together."""


class ArgumentTypeError(InputError, TypeError):
    """An argument of the wrong type."""


class WaitTimeoutError(InputError, multiprocessing.TimeoutError, TimeoutError):
    """Results that did not arrive within the time that the caller set."""
