"""EnvPool's module as its paper and CleanRL use it: ``import worldloom.envpool.gym_v21 as envpool``.

Pools of type ``gym`` have the functions of gym before version 0.26: ``obs = env.reset()`` and
``obs, rew, done, info = env.step(actions)``. Where gym is installed, they are ``gym.Env`` and their spaces gym's. All
else is as in :mod:`worldloom.envpool`.
"""

from __future__ import annotations

from typing import Any

from worldloom.envpool import python, registration
from worldloom.envpool.arguments import ENVPOOL_VERSION
from worldloom.envpool.gymnasium_pool import GymEnvPool, GymnasiumEnvPool
from worldloom.envpool.old_gym import make_pool
from worldloom.envpool.pool import EnvPool
from worldloom.envpool.registration import list_all_envs, make_dm, make_gymnasium, make_spec, register
from worldloom.envpool.spec import EnvSpec

__version__ = ENVPOOL_VERSION
__all__ = [
    "EnvPool",
    "EnvSpec",
    "GymEnvPool",
    "GymnasiumEnvPool",
    "__version__",
    "list_all_envs",
    "make",
    "make_dm",
    "make_gym",
    "make_gymnasium",
    "make_spec",
    "python",
    "register",
    "registration",
]


def make(task_id: str, env_type: str, **kwargs: Any) -> Any:
    """Make a pool of environments: as :func:`worldloom.envpool.make`, with ``gym`` as the type of this module."""
    return make_gym(task_id, **kwargs) if env_type == "gym" else registration.make(task_id, env_type, **kwargs)


def make_gym(task_id: str, **kwargs: Any) -> GymEnvPool:
    """A pool with the functions of gym before version 0.26; ``gym_reset_return_info`` is False by default."""
    return make_pool(make_spec(task_id, **{"gym_reset_return_info": False, **kwargs}))
