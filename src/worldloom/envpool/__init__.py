"""EnvPool's module, for worldloom's worlds: ``import worldloom.envpool as envpool``.

Holds EnvPool's names, arguments, conventions and nothing else: spaces of one environment, next-step autoreset, ids in
``info["env_id"]``, ``send`` and ``recv``. Where they differ from Gymnasium's, ``worldloom.make`` keeps Gymnasium's.
Imports core, vector and, for the infos of its games, atari. No other package imports this one.
"""

from typing import TYPE_CHECKING, Any

from worldloom.envpool.gymnasium_pool import GymnasiumEnvPool
from worldloom.envpool.pool import EnvPool
from worldloom.envpool.registration import list_all_envs, make, make_dm, make_gym, make_gymnasium, make_spec
from worldloom.envpool.spec import EnvSpec

if TYPE_CHECKING:
    from worldloom.envpool.dm_pool import DMEnvPool

__all__ = [
    "DMEnvPool",
    "EnvPool",
    "EnvSpec",
    "GymnasiumEnvPool",
    "list_all_envs",
    "make",
    "make_dm",
    "make_gym",
    "make_gymnasium",
    "make_spec",
]

if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> Any:
        if name != "DMEnvPool":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from worldloom.envpool.dm_pool import DMEnvPool

        return DMEnvPool
