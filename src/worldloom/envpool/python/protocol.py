"""The classes of pools and specs under EnvPool's names of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from worldloom.envpool.gymnasium_pool import GymnasiumEnvPool
from worldloom.envpool.pool import EnvPool
from worldloom.envpool.spec import ArraySpec, EnvSpec

if TYPE_CHECKING:
    from worldloom.envpool.dm_pool import DMEnvPool

__all__ = ["ArraySpec", "DMEnvPool", "EnvPool", "EnvSpec", "GymnasiumEnvPool"]

if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> Any:
        if name != "DMEnvPool":  # which needs the package dm-env
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from worldloom.envpool.dm_pool import DMEnvPool

        return DMEnvPool
