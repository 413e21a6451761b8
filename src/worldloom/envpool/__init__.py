"""EnvPool's module, for worldloom's worlds: ``import worldloom.envpool as envpool``.

Holds EnvPool's names, arguments, conventions and nothing else: spaces of one environment, next-step autoreset, ids in
``info["env_id"]``, ``send`` and ``recv``. Where they differ from Gymnasium's, ``worldloom.make`` keeps Gymnasium's.
Imports core, vector and, for the infos of its games, atari. No other package imports this one.
"""

from typing import TYPE_CHECKING, Any

from worldloom.envpool import registration
from worldloom.envpool.arguments import ENVPOOL_VERSION
from worldloom.envpool.gymnasium_pool import GymnasiumEnvPool
from worldloom.envpool.pool import EnvPool
from worldloom.envpool.python import protocol as _protocol  # noqa: F401 - programs read envpool.python.protocol
from worldloom.envpool.registration import list_all_envs, make, make_dm, make_gym, make_gymnasium, make_spec, register
from worldloom.envpool.spec import EnvSpec

if TYPE_CHECKING:
    from worldloom.envpool.dm_pool import DMEnvPool

__version__ = ENVPOOL_VERSION
__all__ = [
    "DMEnvPool",
    "EnvPool",
    "EnvSpec",
    "GymnasiumEnvPool",
    "__version__",
    "list_all_envs",
    "make",
    "make_dm",
    "make_gym",
    "make_gymnasium",
    "make_spec",
    "register",
    "registration",
]

if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> Any:
        if name != "DMEnvPool":
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from worldloom.envpool.dm_pool import DMEnvPool

        return DMEnvPool
