"""Base classes of objects with limits of copying: they own device memory, threads, processes or file descriptors."""

from __future__ import annotations

from typing import Any, NoReturn

from worldloom.core.base.errors import InputError


class NoShallowCopy:
    """Refuses ``copy.copy``: closing the copy would release the original's resources."""

    def __copy__(self) -> NoReturn:
        raise InputError(
            f"a shallow copy of a {type(self).__name__} would share its memory: copy.deepcopy makes one of its own"
        )


class NotCopyable:
    """Refuses ``copy.copy``, ``copy.deepcopy`` and ``pickle``: a copy would release the original's resources twice."""

    def __copy__(self) -> NoReturn:
        raise _refusal(self, "copied")

    def __deepcopy__(self, memo: dict[int, Any]) -> NoReturn:
        raise _refusal(self, "copied")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise _refusal(self, "pickled")


def _refusal(owner: object, what: str) -> InputError:
    return InputError(
        f"a {type(owner).__name__} cannot be {what}: make another with the same arguments; "
        "a Snapshot carries the state of worldloom's worlds over"
    )
