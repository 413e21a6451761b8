"""EnvPool's module as its paper and CleanRL use it: ``import worldloom.envpool.gym_v21 as envpool``.

Pools of type ``gym`` have the functions of gym before version 0.26: ``obs = env.reset()`` and
``obs, rew, done, info = env.step(actions)``. All else is as in :mod:`worldloom.envpool`.
"""

from __future__ import annotations

from typing import Any

from worldloom.envpool.gymnasium_pool import GymEnvPool
from worldloom.envpool.registration import list_all_envs, make_dm, make_gymnasium, make_other_type, make_spec

__all__ = ["list_all_envs", "make", "make_dm", "make_gym", "make_gymnasium", "make_spec"]


def make(task_id: str, env_type: str, **kwargs: Any) -> Any:
    """Make a pool of environments: as :func:`worldloom.envpool.make`, with ``gym`` as the type of this module."""
    if env_type == "gym":
        return make_gym(task_id, **kwargs)
    if env_type == "gymnasium":
        return make_gymnasium(task_id, **kwargs)
    return make_other_type(task_id, env_type, **kwargs)


def make_gym(task_id: str, **kwargs: Any) -> GymEnvPool:
    """A pool with the functions of gym before version 0.26; ``gym_reset_return_info`` is False by default."""
    return GymEnvPool(make_spec(task_id, **{"gym_reset_return_info": False, **kwargs}))
