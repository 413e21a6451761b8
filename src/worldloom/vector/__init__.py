"""Standard interfaces to worlds and to Gymnasium environments: ``make``, pools, and adapters for other libraries.

Imports core and view only, and neither envs nor atari. Pools and adapters are loaded on first use, because an adapter
imports its library, which may not be installed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from worldloom.vector.make import EnvSpec, list_all_envs, make, make_spec

if TYPE_CHECKING:
    from worldloom.vector.adapters.dm_env import DmVectorEnv, WorldDmEnv
    from worldloom.vector.adapters.gymnasium import WorldEnv, WorldVectorEnv
    from worldloom.vector.adapters.jax import Xla
    from worldloom.vector.adapters.pettingzoo import WorldParallelEnv, WorldParallelVectorEnv
    from worldloom.vector.adapters.pettingzoo_aec import WorldAecEnv
    from worldloom.vector.adapters.rl_games import RlGamesVectorEnv
    from worldloom.vector.adapters.rl_games import register as register_rl_games
    from worldloom.vector.adapters.rllib import RllibMultiAgentEnv, RllibVectorEnv
    from worldloom.vector.adapters.rsl_rl import RslRlVectorEnv
    from worldloom.vector.adapters.skrl import SkrlVectorEnv
    from worldloom.vector.adapters.stable_baselines3 import Sb3VectorEnv
    from worldloom.vector.adapters.tianshou import TianshouVectorEnv
    from worldloom.vector.adapters.torchrl import TorchRLVectorEnv
    from worldloom.vector.process_pool import Fault, ProcessPool, WorkerError
    from worldloom.vector.world_pool import WorldPool

__all__ = [
    "DmVectorEnv",
    "EnvSpec",
    "Fault",
    "ProcessPool",
    "RlGamesVectorEnv",
    "RllibMultiAgentEnv",
    "RllibVectorEnv",
    "RslRlVectorEnv",
    "Sb3VectorEnv",
    "SkrlVectorEnv",
    "TianshouVectorEnv",
    "TorchRLVectorEnv",
    "WorkerError",
    "WorldAecEnv",
    "WorldDmEnv",
    "WorldEnv",
    "WorldParallelEnv",
    "WorldParallelVectorEnv",
    "WorldPool",
    "WorldVectorEnv",
    "Xla",
    "list_all_envs",
    "make",
    "make_spec",
    "register_rl_games",
]

_MODULES = {
    "DmVectorEnv": "adapters.dm_env",
    "Fault": "process_pool",
    "ProcessPool": "process_pool",
    "RlGamesVectorEnv": "adapters.rl_games",
    "RllibMultiAgentEnv": "adapters.rllib",
    "RllibVectorEnv": "adapters.rllib",
    "RslRlVectorEnv": "adapters.rsl_rl",
    "Sb3VectorEnv": "adapters.stable_baselines3",
    "SkrlVectorEnv": "adapters.skrl",
    "TianshouVectorEnv": "adapters.tianshou",
    "TorchRLVectorEnv": "adapters.torchrl",
    "WorkerError": "process_pool",
    "WorldAecEnv": "adapters.pettingzoo_aec",
    "WorldDmEnv": "adapters.dm_env",
    "WorldEnv": "adapters.gymnasium",
    "WorldParallelEnv": "adapters.pettingzoo",
    "WorldParallelVectorEnv": "adapters.pettingzoo",
    "WorldPool": "world_pool",
    "WorldVectorEnv": "adapters.gymnasium",
    "Xla": "adapters.jax",
    "register_rl_games": "adapters.rl_games",
}
"""The module of each export that is loaded on first use."""


if not TYPE_CHECKING:  # a type checker would accept every name

    def __getattr__(name: str) -> Any:
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = import_module(f"{__name__}.{_MODULES[name]}")
        return getattr(module, "register" if name == "register_rl_games" else name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
