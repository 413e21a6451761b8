"""EnvPool, where it can be imported."""

from __future__ import annotations

from typing import Any

from worldloom.core.base.errors import InputError


def import_envpool() -> Any:
    """The package; InputError with the cause where it cannot be imported."""
    try:
        import envpool
    except ImportError as error:
        problem = f"EnvPool cannot be imported ({error})"
        raise InputError(f"{problem}: pip install envpool adds it, or leave envpool out of --engines") from None
    return envpool
